#!/usr/bin/env python3
"""Measures what one hostile member costs the others.

usage: siege.py PROGRAM [SECONDS [ROWS [STORY…]]]

Two nodes have 20,000 rows, or so many, and one of them is pestered by a member: as a reader, then
as a writer. Meanwhile a program commits a row at a time there, and another one waits for it at the
other node. Prints the time until it is seen, that of the commit, memory, log, and what both nodes
took of a core; then how soon all is as before once the member is revoked. Everything stays on
loopback and in a folder that is removed.
"""
import importlib.util
import multiprocessing
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from itertools import count
from random import randrange

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Tests/Fixtures")
sys.path.insert(0, FIXTURES)
SPEC = importlib.util.spec_from_file_location("fake", FIXTURES + "/fake-peer.py")
fake = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake)
# Who floods has a process of its own, and takes no turns of who measures.
APART = multiprocessing.get_context("fork")
PROGRAM = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 8
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000

# That of the tables in a file, as `Layout.format` has it.
FORMAT = 3


def connects(who):
    yield fake.hello(who)


def asks(who):
    """Wants everything again and again."""
    yield fake.hello(who) + fake.have()
    while True:
        yield fake.have(1)


def returns(who):
    """Holds nothing, whenever it comes."""
    yield fake.hello(who) + fake.have()
    time.sleep(0.3)


def pings(who):
    yield fake.hello(who) + fake.have()
    while True:
        yield fake.frame(12, os.urandom(8) + bytes(30))


def unsigned(who):
    """Rows for which nobody has signed."""
    yield b"".join(fake.opened(who))
    for number in count(1):
        yield fake.rows(fake.batch(), number)


def parts(who):
    """Pieces of one byte."""
    yield b"".join(fake.opened(who))
    for start in count(1, 1_000):
        yield b"".join(
            fake.frame(5, fake.uint(number) + b"x") for number in range(start, start + 1_000))


def long_frames(who):
    yield fake.hello(who) + fake.have()
    while True:
        yield fake.frame(9, os.urandom(1 << 20))


def statements(who):
    """What the node has known for long, 4,096 at a time."""
    known = who.statements
    told = (known * (4_096 // len(known) + 1))[:4_096]
    said = fake.frame(16, fake.uint(len(told)) + b"".join(
        fake.uint(len(each)) + each for each in told))
    yield fake.hello(who) + fake.have()
    while True:
        yield said


def empty(who):
    """Exchanges without a row: each is a commit."""
    yield fake.hello(who) + fake.have()
    for number in count(1):
        check = (fake.mix(number) + fake.EMPTY) % 2**64
        yield (fake.frame(3, bytes([0]) + fake.uint(2 * number - 2) + bytes(3))
               + fake.frame(6, bytes(1) + check.to_bytes(8, "big")))


def asks_for_sums(who):
    """Wants to know what is held, as soon as it may have been told."""
    yield fake.hello(who) + fake.have()
    for number in count(1):
        yield fake.frame(20, fake.uint(number) + bytes(1))
        time.sleep(0.05)


def asks_for_rows(who):
    """The same of every row."""
    yield fake.hello(who) + fake.have() + fake.frame(20, bytes([1, 0]))
    time.sleep(2)
    for number in count(2):
        yield fake.frame(20, fake.uint(number) + fake.uint(256) + bytes(range(256)))
        time.sleep(0.05)


def pages(who):
    """Fetches its first copy as pages, and begins anew once it has them."""
    yield fake.frame(1, fake.uint(FORMAT) + bytes(16) + bytes(1) + bytes(32))
    time.sleep(0.3)


def garbage(who):
    yield fake.hello(who) + os.urandom(20_000)


# What is said, and on how many connections at once.
STORIES = {
    "connects": (connects, 4), "connects from everywhere": (connects, 4),
    "asks for all": (asks, 1), "comes back for all": (returns, 1), "pings": (pings, 1),
    "unsigned rows": (unsigned, 1), "pieces of one byte": (parts, 1),
    "long frames": (long_frames, 1), "known statements": (statements, 1),
    "empty exchanges": (empty, 1), "asks for sums": (asks_for_sums, 1),
    "asks for rows": (asks_for_rows, 1), "fetches pages": (pages, 1), "garbage": (garbage, 4),
}


class Site:
    """Two nodes of one site, and files of two members that do not run."""

    def __init__(self, folder):
        self.folder = folder
        quiet = {"XDG_RUNTIME_DIR": folder, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere"}
        self.environment = os.environ | quiet
        with sqlite3.connect(folder + "/a.db") as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
            rows = [(number, "x" * 80) for number in range(ROWS)]
            db.executemany("INSERT INTO t VALUES (?, ?)", rows)
        self.run("init", "a.db", "--all", "--name", "a")
        self.nodes = [self.serve("a.db")]
        self.port = self.listens("a.db")
        self.address = f"127.0.0.1:{self.port}"
        for name, role in (("b", "writer"), ("writer", "writer"), ("reader", "reader")):
            code = self.run("invite", "a.db", "--role", role).split("\n")[0]
            self.run("join", name + ".db", code, "--at", self.address, "--name", name)
        self.nodes.append(self.serve("b.db", "--peer", self.address))
        self.listens("b.db")
        self.writer, self.watcher = (
            sqlite3.connect(folder + name, isolation_level=None, timeout=10)
            for name in ("/a.db", "/b.db"))
        self.last = 10 * ROWS

    def run(self, *words):
        done = subprocess.run(
            [PROGRAM, *words], env=self.environment, cwd=self.folder, capture_output=True,
            text=True, timeout=60)
        if done.returncode:
            raise SystemExit(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def serve(self, database, *words):
        with open(f"{self.folder}/{database}.out", "w") as out:
            return subprocess.Popen(
                [PROGRAM, "run", database, "--no-discovery", "--listen", "127.0.0.1:0", *words],
                env=self.environment, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT)

    def listens(self, database):
        for _ in range(200):
            found = re.search(r"port (\d+)", open(f"{self.folder}/{database}.out").read())
            if found:
                return int(found.group(1))
            time.sleep(0.05)
        raise SystemExit(f"{database} does not listen")

    def edit(self):
        """Seconds until a row is committed, and from then on until it is seen."""
        self.last += 1
        start = time.perf_counter()
        self.writer.execute("INSERT INTO t VALUES (?, 'y')", (self.last,))
        done = time.perf_counter()
        while time.perf_counter() - done < 20:
            if self.watcher.execute("SELECT 1 FROM t WHERE id = ?", (self.last,)).fetchone():
                break
            time.sleep(0.0003)
        return done - start, time.perf_counter() - done

    def memory(self):
        """The most that a node holds, MiB."""
        sizes = [open(f"/proc/{node.pid}/status").read() for node in self.nodes]
        return max(int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024 for text in sizes)

    def processor(self):
        """Seconds that the nodes have computed."""
        texts = [open(f"/proc/{node.pid}/stat").read() for node in self.nodes]
        fields = [text[text.rindex(")"):].split() for text in texts]
        return sum(int(each[12]) + int(each[13]) for each in fields) / os.sysconf("SC_CLK_TCK")

    def log(self):
        """Bytes of what nodes have said."""
        return sum(
            entry.stat().st_size for name in ("a.db", "b.db")
            for entry in os.scandir(f"{self.folder}/{name}-flotilla") if "log" in entry.name)

    def measure(self, title):
        edits, log, end = [], self.log(), time.time() + SECONDS
        start, computed = time.time(), self.processor()
        while time.time() < end:
            edits.append(self.edit())
            time.sleep(0.01)
        share = 100 * (self.processor() - computed) / (time.time() - start)
        commits, seen = (sorted(each) for each in zip(*edits))
        print(
            f"{title:27} {len(edits):5}  {part(seen, 0.5):7.1f} {part(seen, 0.99):7.1f}"
            f" {part(seen, 1):7.1f}  {part(commits, 0.99):7.1f}  {self.memory():6.0f}"
            f" {(self.log() - log) / 1024:6.0f} {share:6.0f}", flush=True)

    def besiege(self, name):
        for title, (story, connections) in STORIES.items():
            if sys.argv[4:] and title not in sys.argv[4:]:
                continue
            purpose = "flotilla-copy/1" if story is pages else "flotilla/1"
            who = fake.Member(f"{self.folder}/{name}.db", alpn=(purpose,))
            over = APART.Event()
            floods = [
                APART.Process(target=self.flood, args=(who, story, over, "everywhere" in title))
                for _ in range(connections)]
            for flood in floods:
                flood.start()
            time.sleep(1)
            self.measure(f"{name}: {title}")
            over.set()
            for flood in floods:
                flood.join()

    def recover(self, name):
        """Seconds from the revocation of a member that floods until edits are seen as before."""
        before = sorted(self.edit()[1] for _ in range(100))
        who, over = fake.Member(f"{self.folder}/{name}.db"), APART.Event()
        floods = [
            APART.Process(target=self.flood, args=(who, story, over))
            for story in (connects, asks, statements, empty)]
        for flood in floods:
            flood.start()
        time.sleep(2)
        start, as_before = time.time(), 0
        self.run("revoke", "a.db", name)
        while as_before < 20 and time.time() - start < 60:
            as_before = as_before + 1 if self.edit()[1] <= 3 * before[95] else 0
            last = time.time()
        over.set()
        for flood in floods:
            flood.join()
        return last - start

    def flood(self, who, story, over, everywhere=False):
        while not over.is_set():
            source = f"127.{randrange(1, 250)}.{randrange(250)}.{randrange(1, 250)}"
            try:
                with who.connect(self.port, 5, source if everywhere else "127.0.0.1") as peer:
                    threading.Thread(target=drain, args=(peer,), daemon=True).start()
                    for piece in story(who):
                        if over.is_set():
                            break
                        peer.sendall(piece)
            except OSError:
                pass

    def end(self):
        for node in self.nodes:
            node.terminate()
            node.wait()


def part(values, share):
    """Milliseconds below which that share of the values is."""
    return 1_000 * values[min(len(values) - 1, int(len(values) * share))]


def drain(peer):
    try:
        while peer.recv(1 << 16):
            pass
    except OSError:
        pass


with tempfile.TemporaryDirectory() as folder:
    site = Site(folder)
    try:
        print(f"{'':27} edits  seen: p50     p99     max  commit p99    MiB   log KiB, core %")
        site.measure("no such member")
        site.measure("no such member")
        site.besiege("reader")
        site.besiege("writer")
        for name in ("writer", "reader"):
            print(f"{name} is shut out while it floods: as before after {site.recover(name):.1f} s")
        site.measure("both are shut out")
    finally:
        site.end()
