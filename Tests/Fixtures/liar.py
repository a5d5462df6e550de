"""Tells a node what a member may say by the types of the protocol, and should not.

liar.py PORT DB STORY [PORT OF ANOTHER NODE]

Speaks as the node of the database DB, which does not run, with its key, credential and signature.
Prints the story, and how it ended: `bye CODE`, `closed`, or `open` if the node still listened to it
when all was told. The bytes are those of docs/protocol.md.
"""

import hashlib
import os
import queue
import select
import struct
import sys
import threading
import time

from member import Member, openssl, uint

WORD = 2**64
TOP = 2**62
# The epoch of stamps, 2020, and bits of a stamp below its milliseconds.
STAMPS, FINE = 1_577_836_800_000, 16


def mix(word):
    z = (word + 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) % WORD
    return z ^ z >> 31


def word(n):
    return struct.pack(">Q", n % WORD)


def sint(n):
    return uint((n << 1 ^ n >> 63) % WORD)


def blob(data):
    data = data.encode() if isinstance(data, str) else data
    return uint(len(data)) + data


def frontier(entries):
    return uint(len(entries)) + b"".join(word(o) + uint(entries[o]) for o in sorted(entries))


def frontier_hash(entries):
    h = 0x9E3779B97F4A7C15
    for origin in sorted(entries):
        h = mix((mix(h ^ origin) + entries[origin]) % WORD)
    return h


def value(v):
    if v is None:
        return b"\0"
    if isinstance(v, int):
        return b"\1" + sint(v)
    return (b"\3" if isinstance(v, str) else b"\4") + blob(v)


def hash_of(data, seed):
    h, whole = mix(seed ^ len(data)), len(data) & ~7
    for at in range(0, whole, 8):
        little = int.from_bytes(data[at:at + 8], "little")
        product = (h ^ little) * 0xA0761D6478BD642F
        h = ((product >> 64 ^ product % WORD) + int.from_bytes(data[at:at + 8], "big")) % WORD
    return mix(h ^ mix(int.from_bytes(data[whole:], "big")))


def content_hash(columns, values):
    """That of texts."""
    total = 0x243F6A8885A308D3
    for column, v in zip(columns, values):
        name = mix(hash_of(column.lower().encode(), 0))
        total += mix(name ^ mix(hash_of(v.encode(), 3)))
    return mix(total % WORD) or 1


def now():
    return int(time.time() * 1000)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def uint(self):
        n = shift = 0
        while True:
            byte = self.take(1)[0]
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    def word(self):
        return int.from_bytes(self.take(8), "big")


class Row:
    """A row of texts by its author, as it travels in a batch of its own."""

    def __init__(self, table, columns, values, stamp=None, epoch=0, claimed=None, key=16,
                 generation=0):
        self.table, self.columns, self.values, self.key = table, columns, values, key
        self.generation = generation
        self.stamp = (now() - STAMPS) << FINE if stamp is None else stamp
        self.epoch, self.hash = epoch, claimed or content_hash(columns, values)

    def batch(self, origin, seq):
        body = uint(1) + blob(self.table) + uint(1) + uint(len(self.columns))
        body += b"".join(blob(column) for column in self.columns)
        body += bytes([self.key]) + uint(self.generation)
        body += uint(1) + word(origin) + uint(0) + uint(1)
        body += uint(0) + bytes([10 if self.epoch else 2]) + uint(0) + uint(seq) + uint(self.stamp)
        body += word(self.hash)
        if self.epoch:
            body += bytes([32]) + uint(self.epoch)
        return body + b"".join(value(v) for v in self.values)

    def check(self, origin, seq):
        return mix(mix(origin) ^ mix(seq) ^ self.hash)


class Liar(Member):
    def __init__(self, database):
        super().__init__(database)
        self.database = database
        self.run = int.from_bytes(os.urandom(8), "big")
        self.life = 1
        self.origin = self.origin_of(self.node, self.life)
        # Later than all that it has told before.
        self.seq = now()
        self.view = None

    @staticmethod
    def origin_of(node, life):
        text = b"FLOTILLA origin 1\n" + node + word(life)
        return max(1, int.from_bytes(hashlib.sha256(text).digest()[:8], "big"))

    def open(self, port, resume=None):
        """As one that holds nothing, and may have worked through a part of what comes."""
        self.frames = self.exchanges = 0
        self.bye, self.heard, self.peer_life = None, queue.Queue(), None
        self.port, self.turn = port, threading.Lock()
        self.peer = self.connect(port, 20)
        hello = b"FLOT" + uint(4) + b"\0" + self.site + self.node + blob("liar") + word(self.run)
        hello += sint(now()) + uint(0) + bytes(16) + word(self.life)
        self.say(1, hello + bytes(3))
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        # A node says nothing of rows before it has compared times.
        while (kind := self.heard.get(timeout=20)) != 2:
            if kind is None:
                raise ConnectionError
        self.say(2, bytes(1) + frontier({}) + word(frontier_hash({})) + bytes(8)
                 + frontier(resume(self) if resume else {}))
        return self

    def close(self):
        # It still reads, and ends when it finds that nothing more comes.
        self.finish(self.peer)
        self.listener.join()
        self.peer.close()

    def say(self, kind, body=b""):
        self.send(struct.pack(">IB", len(body) + 1, kind) + body)

    def send(self, data):
        # One TLS connection is not for two threads at once.
        with self.turn:
            self.peer.sendall(data)

    def more(self):
        if not self.peer.pending():
            select.select([self.peer], [], [])
        with self.turn:
            return self.peer.recv(1 << 16)

    def listen(self):
        data = b""
        try:
            while more := self.more():
                data += more
                while len(data) >= 4 and len(data) >= 4 + struct.unpack(">I", data[:4])[0]:
                    end = 4 + struct.unpack(">I", data[:4])[0]
                    self.hear(data[4], Reader(data[5:end]))
                    data = data[end:]
        except OSError:
            pass
        self.bye = self.bye or "closed"
        self.heard.put(None)

    def hear(self, kind, reader):
        if kind == 1:
            reader.take(6 + 16)
            self.peer_node = reader.take(16)
            reader.take(reader.uint() + 8)
            reader.uint(), reader.uint(), reader.take(16)
            self.peer_life = reader.word()
        elif kind == 7:
            echo = reader.uint()
            reader.uint()
            self.say(8, uint(echo) + sint(now()) + self.told_time(reader))
        elif kind == 14:
            self.bye = f"bye {reader.uint()}"
        self.heard.put(kind)

    def told_time(self, reader):
        """What it answers when it is asked for the time: nothing, or a lie about the peer's."""
        flags = reader.take(1)[0]
        if not self.view or not flags & 16:
            return b"\0"
        time = reader.uint() >> 1
        reader.uint()
        if flags & 4:
            reader.uint()
        return self.view(time, reader.data[reader.at:])

    def reach(self, seq):
        text = b"FLOTILLA reach 1\n" + self.site + self.node + word(self.life) + word(seq)
        path = f"{os.path.dirname(self.certificate)}/reach"
        with open(path, "wb") as file:
            file.write(text + word(self.run))
        signature = openssl("pkeyutl", "-sign", "-inkey", self.key, "-rawin", "-in", path)
        return (word(self.origin) + self.node + word(self.life) + uint(seq) + word(self.run)
                + signature)

    def number(self, kind, body):
        """A frame of an exchange."""
        self.say(kind, uint(self.frames) + body)
        self.frames += 1

    def exchange(self, rows=(), covers=None, judged=None):
        """A whole one. `judged` are a term, its incarnation and a frontier."""
        first, self.seq = self.seq, self.seq + len(rows)
        covers = {self.origin: self.seq} | (covers or {})
        self.exchanges += 1
        check = mix(self.exchanges) + frontier_hash(covers)
        body = bytes(1) + uint(self.frames) + uint(len(rows)) + frontier(covers)
        if judged:
            body += uint(judged[0]) + word(judged[1]) + frontier(judged[2])
            check += mix(mix(judged[0]) ^ judged[1]) + frontier_hash(judged[2])
        self.say(3, body if judged else body + uint(0))
        self.frames += 1
        self.number(23, uint(1) + self.reach(self.seq))
        for seq, row in enumerate(rows, first + 1):
            batch = row.batch(self.origin, seq)
            while len(batch) > 900_000:
                self.number(5, batch[:900_000])
                batch = batch[900_000:]
            self.number(4, batch)
            check += row.check(self.origin, seq)
        self.say(6, uint(len(rows)) + word(check))
        self.frames += 1


def invented(count):
    return {mix(number) | 1: 1 + number for number in range(count)}


def held(liar):
    """That it has known the time of the site for ever."""
    for claim in (2**53, 2**53 - 25_000):
        liar.view = lambda time, rest: b"\x11" + sint(time) + uint(claim) + rest
        time.sleep(4)


def founding(liar):
    """That a person has founded the time as often as can be, for a time that is far ahead."""
    for ahead in (500 * 86_400_000, 2**53 - 1 - now()):
        word_of = uint(2**32) + b"\0" + uint(1) + os.urandom(8)
        liar.view = lambda time, rest: b"\x13" + sint(time + ahead) + uint(90_000_000) + word_of
        time.sleep(4)


def wide(liar):
    """A row of names that no frame holds."""
    names = ["id"] + [f"{number:04}" + "n" * 508 for number in range(1_998)]
    liar.exchange([Row("t", names, ["k1"] + ["x"] * 1_998)])


def widening(liar):
    """Rows of one key, each with other columns."""
    for turn in range(20):
        names = ["id"] + [f"{turn:03}{number:03}" + "n" * 500 for number in range(120)]
        liar.exchange([Row("t", names, ["k1"] + ["x"] * 120)])


def judged(liar):
    for turn in range(5):
        entries = {mix(turn << 32 | number) | 1: 1 for number in range(16_384)}
        liar.exchange(judged=(1 + turn, 7, entries))


def term(liar):
    liar.exchange(judged=(TOP, 7, {}))


def covers(liar):
    liar.exchange(covers=invented(16_380))


def covers_another(liar):
    """That it holds edits of the peer that this one never made."""
    for turn in range(12):
        liar.exchange(covers={liar.origin_of(liar.peer_node, liar.peer_life): 2**40 + turn})


def private(liar):
    """A setting that tracks a table which is the peer's own affair."""
    liar.exchange([Row("_flotilla_table", ["name", "rule"], ["private", "newest-wins"], key=17)])


def tables(liar):
    for start in range(0, 1_997, 200):
        names = range(start, min(start + 200, 1_997))
        liar.exchange([Row(f"invented{number}", ["id", "v"], ["k", "v"]) for number in names])


def contents(liar, other):
    """One edit, with another content for each of two nodes at once."""
    second = Liar(liar.database).open(other)
    second.seq, second.run = liar.seq, liar.run
    for number, each in enumerate((liar, second)):
        row = Row("t", ["id", "v"], ["twice", f"content {number}"], 1 << 58, claimed=77)
        each.exchange([row])


def maxima(liar):
    for key, stamp, epoch in (("k1", TOP, 0), ("k2", TOP, TOP), ("k3", 1 << 58, 2**61)):
        liar.exchange([Row("t", ["id", "v"], [key, "frozen"], stamp, epoch)])


def wants(liar):
    """Rows by keys of nearly 1 MB each."""
    for number in range(300):
        liar.say(18, uint(1) + blob("t") + blob(b"\3" + bytes([65 + number % 26]) * 1_047_000))


def begin(liar):
    liar.say(3, bytes(1) + uint(liar.frames) + uint(1) + frontier({}) + uint(0))
    liar.frames += 1


def parts(liar):
    """Pieces of one byte, for as long as the peer takes them."""
    begin(liar)
    end = time.time() + 8
    while time.time() < end:
        pieces = b""
        for _ in range(1_000):
            body = uint(liar.frames) + b"x"
            pieces += struct.pack(">IB", len(body) + 1, 5) + body
            liar.frames += 1
        liar.send(pieces)


def crumbs(liar):
    """A frame in records of one byte."""
    liar.send(struct.pack(">IB", 100_000, 9))
    for _ in range(20_000):
        liar.send(b"x")


def nothings(liar):
    begin(liar)
    for _ in range(1_000):
        liar.number(5, b"")


def long_row(liar):
    """A row of 60 MB with columns that nobody has, whose hash nothing gives."""
    names = ["id", "v"] + [f"more{number}" for number in range(8)]
    liar.exchange([Row("t", names, ["long", "v" * 60_000_000] + ["x"] * 8, claimed=77)])


def addresses(liar):
    for turn in range(256):
        told = [f"127.{turn % 8}.{turn}.{number + 1}:9" for number in range(16)]
        liar.say(9, uint(1) + liar.node + blob("liar") + uint(16) + b"".join(map(blob, told))
                 + uint(0))
    time.sleep(4)


def uncomputable(liar):
    """A row with which an index of the peer's schema cannot compute."""
    liar.exchange([Row("form", ["id", "data"], ["k", "no JSON"])])


def shapes(liar):
    """Two shapes of one key lead by turns. Gives how often it had to come again."""
    cut = 0
    for turn in range(50):
        row = Row("t", ["id", "v"], [f"k {turn}", "x"], key=16 * (turn % 2), generation=turn + 1)
        try:
            liar.exchange([row])
        except OSError:
            liar.bye = "closed"
        time.sleep(0.1)
        if liar.bye:
            cut += 1
            liar.close()
            liar.open(liar.port)
    return str(cut)


def visits(liar, until=6, patience=8, resume=lambda liar, turn: {}):
    """Comes back as one that holds nothing, and gives in which connections it was sent rows."""
    said = ""
    for turn in range(8):
        if turn > 0:
            liar.open(liar.port, lambda liar: resume(liar, turn))
        said, end = said + "-", time.time() + patience
        while time.time() < end:
            try:
                if liar.heard.get(timeout=0.2) == until:
                    said = said[:-1] + "+"
                    break
            except queue.Empty:
                pass
        liar.close()
    return said


def cuts(liar):
    """The same of one whose link is cut, and which comes a little further each time."""
    return visits(liar, 4, 20, lambda liar, turn: {
        liar.origin_of(liar.peer_node, liar.peer_life): turn * 7_500})


STORIES = {story.__name__.replace("_", "-"): story for story in (
    held, founding, wide, widening, judged, term, covers, covers_another, private, tables, contents,
    maxima, wants, parts, crumbs, nothings, long_row, addresses, uncomputable, shapes, visits,
    cuts)}


def tell(port, database, story, *others):
    liar = Liar(database)
    try:
        said = STORIES[story](liar.open(port), *map(int, others))
        if said:
            return said
        # It has worked through all of it when it answers.
        for _ in range(50):
            time.sleep(0.1)
            if liar.bye:
                break
    except OSError:
        time.sleep(0.2)
    return liar.bye or "open"


if __name__ == "__main__":
    print(sys.argv[3], tell(int(sys.argv[1]), *sys.argv[2:]))
