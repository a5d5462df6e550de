#!/usr/bin/env python3
"""Five nodes and seven writers while everything goes wrong, drawn from a seed; then what is left.

usage: chaos.py can                 exit 0 if what it needs is there, else say what is missing
       chaos.py SEED SECONDS        in the lab $FLOTILLA_LAB of five hosts, with $FLOTILLA_BIN

Exit status 0 if, after all is mended, the nodes get in sync, their replicas are equal and sound,
and hold what the writers were told: no acknowledged write is lost, nothing is there that nobody
wrote, and transactions are whole. Else it says what is wrong and keeps the hosts' files.
"""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from field import FAKETIME, HERE, Broken, Field
from history import judge, rows
from plan import HOSTS, SCHEMA, WRITERS, Schedule

SYNC_SECONDS = int(os.environ.get("FLOTILLA_CHAOS_SYNC_SECONDS", "120"))


def missing():
    """What must be installed and is not."""
    if not any(pathlib.Path("/usr/lib").glob(f"*/{FAKETIME}")):
        yield "libfaketime"
    for words in (["perl", "-MDBD::SQLite", "-e1"], ["tclsh"], ["sqlite3", "--version"]):
        try:
            subprocess.run(words, input="package require sqlite3", text=True, check=True,
                           capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            yield " ".join(words[:2]) + (" with sqlite3" if words == ["tclsh"] else "")


def found(field):
    """A site of five nodes."""
    db = sqlite3.connect(field.home(1) / "site.db")
    db.executescript("PRAGMA journal_mode = WAL;" + SCHEMA)
    db.close()
    field.succeed(1, "flotilla", "init", "site.db", "--site", "Chaos", "--name", "h1", "--all")
    field.start(1)
    for host in HOSTS[1:]:
        code = until(20, lambda: invitation(field))
        field.succeed(host, "flotilla", "join", "site.db", code, "--name", f"h{host}", limit=60)
        field.start(host)


def invitation(field):
    status, output = field.at(1, "flotilla", "invite", "site.db")
    return output if status == 0 else None


def until(seconds, ask, every=0.3):
    """Asks until the answer is yes or the time is over; gives the last answer."""
    end = time.monotonic() + seconds
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(every)
    return answer


def happen(field, seed, seconds):
    """The chaos itself."""
    start = time.monotonic()
    for second, what, arguments in Schedule(seed, seconds).events:
        while (left := start + second - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
            field.watch()
        late = time.monotonic() - start - second
        print(f"{second:7.2f} {what} {' '.join(map(str, arguments))}"
              + (f" ({late:.1f} s late)" if late > 0.5 else ""), flush=True)
        if what != "nothing":
            getattr(field, what.replace("-", "_"))(*arguments)
    time.sleep(max(0, start + seconds - time.monotonic()))


def settle(field):
    """Lets the writers finish and waits until every node says that it is in sync."""
    for host in HOSTS:
        (field.home(host) / "stop").touch()
    for writer, process in field.writers.items():
        if process.wait(60) != 0:
            raise Broken(f"writer {WRITERS[writer]}: status {process.returncode}")
    field.writers.clear()
    start, said = time.monotonic(), {}

    def in_sync():
        field.watch()
        said.update((host, field.status(host)) for host in HOSTS)
        return all(status["in_sync"] and len(status["peers"]) == len(HOSTS) - 1
                   and status["parked"] == 0 for status in said.values())

    if not until(SYNC_SECONDS, in_sync):
        states = "\n".join(f"host {host}: {brief(status)}" for host, status in said.items())
        raise Broken(f"not in sync after {SYNC_SECONDS} s:\n{states}")
    return time.monotonic() - start


def brief(status):
    """What a node says of itself and of those with whom it is not in sync."""
    if "error" in status:
        return status["error"]
    others = [f"{peer['node']} {peer['state']}, behind by {peer['behind_rows']} rows, "
              f"{peer['behind_seconds']:.0f} s, at {peer['address']}"
              for peer in status["peers"] if peer["state"] != "in-sync"]
    return "; ".join([f"in sync: {status['in_sync']}, parked: {status['parked']}, "
                      f"peers: {len(status['peers'])}", *others])


def check(field):
    """Looks at all replicas from outside and at what the writers were told."""
    paths = [field.home(host) / "site.db" for host in HOSTS]
    compared = subprocess.run(
        [sys.executable, HERE.parent / "compare.py", *paths], capture_output=True, text=True)
    report = [compared.stdout + compared.stderr] if compared.returncode != 0 else []
    histories = {writer: field.history(writer) for writer in range(len(WRITERS))}
    for host, path in zip(HOSTS, paths):
        wrong = judge(histories, rows(path))
        report += [f"host {host}: {line}" for line in wrong[:20]]
        report += [f"host {host}: {len(wrong)} rows in all"] if wrong else []
    for writer, history in histories.items():
        acknowledged, refused = history.count("ok"), history.count("no")
        print(f"writer {writer} {WRITERS[writer]}: {acknowledged} acknowledged, {refused} refused, "
              f"{history.count('try')} without an answer")
        # A transaction may have to give way; anything else that refuses it is a fault.
        report += [line for line in history.errors
                   if "locked" not in line and "busy" not in line][:5]
        if acknowledged < 10:
            report.append(f"writer {WRITERS[writer]} got only {acknowledged} acknowledged")
    if report:
        raise Broken("\n".join(report))
    return compared.stdout.strip()


def special(folder, names):
    """What cannot be copied: sockets and such."""
    paths = {name: pathlib.Path(folder, name) for name in names}
    return [name for name, path in paths.items() if not (path.is_file() or path.is_dir())]


def run(seed, seconds):
    field = Field(os.environ["FLOTILLA_LAB"], seed, seconds)
    try:
        found(field)
        for host, offset in Schedule.clocks(seed).items():
            field.clock(host, offset)
        for host in HOSTS:
            field.kill(host)
            field.start(host)
        for writer in range(len(WRITERS)):
            field.start_writer(writer)
        happen(field, seed, seconds)
        took = settle(field)
        print(f"in sync {took:.1f} s after the last write, {check(field)}")
        return 0
    except (Broken, subprocess.SubprocessError) as failure:
        kept = pathlib.Path(tempfile.mkdtemp(prefix=f"chaos-{seed}."))
        for host in HOSTS:
            shutil.copytree(field.home(host), kept / f"h{host}", symlinks=True, ignore=special)
        print(f"chaos of seed {seed}, {seconds} s: {failure}\nthe hosts' files are in {kept}")
        return 1
    finally:
        field.end()


if __name__ == "__main__":
    if sys.argv[1:] == ["can"]:
        absent = list(missing())
        print(f"missing: {', '.join(absent)} (make setup)" if absent else "")
        sys.exit(1 if absent else 0)
    sys.exit(run(sys.argv[1], int(sys.argv[2])))
