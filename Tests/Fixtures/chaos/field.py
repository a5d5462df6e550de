"""The hosts of a lab while everything happens to them: nodes and writers by process, links, clocks.

Everything goes through lan.sh, so only namespaces of the lab are touched.
"""
import json
import os
import pathlib
import signal
import subprocess

from history import History
from plan import HOSTS, WRITERS, transactions

HERE = pathlib.Path(__file__).resolve().parent
LAN = HERE.parent.parent.parent / "scripts" / "lan.sh"
LANGUAGES = {"py": "python3", "pl": "perl", "tcl": "tclsh", "sh": "bash"}
FAKETIME = "faketime/libfaketimeMT.so.1"


class Broken(Exception):
    """The test has failed, and why."""


def clocked(offset):
    """Starts a program with a clock that is wrong by an offset as libfaketime writes it.

    Uptime stays right, as it does where somebody sets a clock, and so do the times of files. The
    offset stays the same for the life of a process: under libfaketime a wait for a semaphore with
    a time limit, as Dispatch does it, spins once the offset has changed.
    """
    library = next(pathlib.Path("/usr/lib").glob(f"*/{FAKETIME}"))
    return ["env", f"LD_PRELOAD={library}", f"FAKETIME={offset}", "NO_FAKE_STAT=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1"]


class Field:
    def __init__(self, lab, seed, seconds):
        self.lab = pathlib.Path(lab)
        self.nodes, self.writers, self.others = {}, {}, []
        self.clocks = dict.fromkeys(HOSTS, "+0")
        # More than a writer gets done, even if it never has to wait.
        self.plans = [transactions(seed, writer, seconds * 12) for writer in range(len(WRITERS))]

    # Hosts

    def home(self, host):
        return self.lab / f"h{host}" / "home"

    def lan(self, *words):
        done = subprocess.run([LAN, *map(str, words)], capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise Broken(f"lan.sh {words}: {done.returncode}\n{done.stdout}\n{done.stderr}")

    def at(self, host, *words, limit=30):
        """A program on a host, with the clock of that host: (status, output)."""
        words = [LAN, "exec", str(host), "timeout", "-k", "2", str(limit),
                 *clocked(self.clocks[host]), *words]
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit + 10)
        return done.returncode, done.stdout.strip() or done.stderr.strip()

    def succeed(self, host, *words, limit=30):
        status, output = self.at(host, *words, limit=limit)
        if status != 0:
            raise Broken(f"host {host}: {' '.join(words)}: {status}\n{output}")
        return output

    def spawn(self, host, name, words):
        """Starts a program that goes on, its process id on the host in a file, output in a log."""
        home = self.home(host)
        (home / f"{name}.pid").unlink(missing_ok=True)
        line = f'echo $$ >{name}.new && mv {name}.new {name}.pid && exec "$@" >>{name}.log 2>&1'
        return subprocess.Popen(
            [LAN, "exec", str(host), "sh", "-c", line, "sh", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)

    def send(self, host, name, word, process):
        """Sends a signal to a program once it has told its process id."""
        line = f'for i in $(seq 100); do [ -s {name}.pid ] && break; sleep 0.05; done; '
        line += f'kill -{word} $(cat {name}.pid)'
        if process.poll() is None:
            done = subprocess.run([LAN, "exec", str(host), "sh", "-c", line], capture_output=True,
                                  text=True, timeout=30)
            if done.returncode != 0 and process.poll() is None:
                raise Broken(f"cannot signal {name} of host {host}: {done.stderr}")

    # What happens

    def start(self, host):
        self.nodes[host] = self.spawn(
            host, "node", [*clocked(self.clocks[host]), "flotilla", "run", "site.db"])

    def kill(self, host):
        node = self.nodes.pop(host)
        self.send(host, "node", "KILL", node)
        node.wait(20)

    def freeze(self, host):
        self.send(host, "node", "STOP", self.nodes[host])

    def thaw(self, host):
        self.send(host, "node", "CONT", self.nodes[host])
        # nsenter stops itself where its child was stopped.
        os.killpg(self.nodes[host].pid, signal.SIGCONT)

    def cut(self, host):
        self.lan("cut", host)

    def heal(self, host):
        self.lan("heal", host)

    def mute(self, *hosts):
        self.lan("mute", *hosts)

    def unmute(self, *hosts):
        self.lan("unmute", *hosts)

    def split(self, ones, others):
        for host in ones:
            self.lan("mute", host, *others)
        for host in others:
            self.lan("mute", host, *ones)

    def join(self, ones, others):
        for host in ones:
            self.lan("unmute", host, *others)
        for host in others:
            self.lan("unmute", host, *ones)

    def clock(self, host, offset):
        self.clocks[host] = offset

    def restart_avahi(self, host):
        # It takes a while, and nothing else waits for it.
        self.others.append(subprocess.Popen(
            [LAN, "restart-avahi", str(host)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def start_writer(self, writer):
        host, language = WRITERS[writer]
        name = f"writer{writer}"
        with open(self.home(host) / f"{name}.plan", "w", encoding="utf-8") as plan:
            plan.writelines(transaction.line() for transaction in self.plans[writer])
        first = self.history(writer).last + 1
        words = [LANGUAGES[language], f"{HERE}/writer.{language}", "site.db", f"{name}.plan",
                 f"{name}.history", str(first)]
        start = clocked(self.clocks[host])
        # What a shell forks would take the library's shared memory with it when it ends.
        words = words + start if language == "sh" else start + words
        self.writers[writer] = self.spawn(host, name, words)

    def kill_writer(self, writer):
        process = self.writers.pop(writer)
        self.send(WRITERS[writer][0], f"writer{writer}", "KILL", process)
        process.wait(20)

    def history(self, writer):
        host, language = WRITERS[writer]
        path = self.home(host) / f"writer{writer}.history"
        return History(path, self.plans[writer])

    def watch(self):
        """Fails if a node or a writer has ended that nobody killed."""
        for host, node in self.nodes.items():
            if node.poll() is not None:
                raise Broken(f"the node of host {host} ended by itself, status {node.returncode}:"
                             f"\n{self.tail(host, 'node')}")
        for writer, process in self.writers.items():
            if process.poll() is not None:
                host = WRITERS[writer][0]
                raise Broken(f"writer {WRITERS[writer]} ended by itself, {process.returncode}:\n"
                             f"{self.tail(host, f'writer{writer}')}")

    def tail(self, host, name):
        path = self.home(host) / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-30:])

    def status(self, host):
        status, output = self.at(host, "flotilla", "status", "site.db", "--all", "--json")
        try:
            return json.loads(output)
        except ValueError:
            return {"in_sync": False, "error": f"{status} {output}"}

    def end(self):
        """Ends what was started here; the lab ends the rest."""
        for host, node in self.nodes.items():
            if node.poll() is None:
                self.send(host, "node", "KILL", node)
        for process in [*self.nodes.values(), *self.writers.values(), *self.others]:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
