"""Talks to a node as a broken, foreign or hostile peer would.

fake-peer.py PORT STORY        as a stranger, without TLS
fake-peer.py PORT STORY DB     as the node of the database DB, with its key and its credential

Prints the story and the code of the Bye that came back, `closed`, or `silent`. STORY `all` tells
all of them. The bytes are those of docs/protocol.md.
"""

import os
import socket
import struct
import sys
import time

from member import Member

BYE = 14


def uint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


# The hash of a frontier without origins.
EMPTY = 0x9E3779B97F4A7C15


def mix(word):
    z = (word + 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) % 2**64
    return z ^ z >> 31


def frame(kind, body=b""):
    return struct.pack(">IB", len(body) + 1, kind) + body


def hello(who, version=4, name=b"fake", magic=b"FLOT", purpose=0, site=None, node=None,
          standing=b"\x00"):
    body = magic + uint(version) + bytes([purpose]) + (site or who.site) + (node or who.node)
    body += uint(len(name)) + name + os.urandom(8) + uint(2 * int(time.time() * 1000))
    return frame(1, body + uint(0) + bytes(25) + standing + bytes(1))


def have(flags=0):
    return frame(2, bytes([flags, 0]) + bytes.fromhex("9e3779b97f4a7c15") + bytes(8) + bytes([0]))


def begin():
    covers = bytes([1]) + bytes(7) + b"\xA1" + uint(3)
    return frame(3, bytes([0]) + uint(0) + uint(1) + covers + uint(0))


def batch(rows=1, columns=2, key=1):
    body = uint(1) + uint(1) + b"t" + uint(key) + uint(columns) + uint(2) + b"id" + uint(1) + b"v"
    body += bytes(min(key, columns, 9)) + uint(0)  # collations, generation
    body += uint(1) + bytes(7) + b"\xA1" + uint(0) + uint(rows)
    body += bytes([0, 2, 0]) + uint(1) + uint(1 << 40) + os.urandom(8)
    return body + bytes([3]) + uint(1) + b"k" + bytes([3]) + uint(1) + b"v"


def end():
    return frame(6, uint(1) + bytes(8))


def rows(body, number=1):
    return frame(4, uint(number) + body)


def account(kind, body=b"", number=1):
    return frame(21, uint(number) + bytes([kind]) + body)


# Whole and cleared at cut 9, which nobody else knows.
COLLECTED = b"\x03" + 2 * (uint(9) + bytes(15) + b"\x01")


def stability(standing):
    return frame(19, standing + uint(0) + uint(0) + uint(0))


def opened(who):
    return [hello(who), have(), begin()]


STORIES = {
    "silence": lambda who: [],
    "random": lambda who: [os.urandom(3000)],
    "http": lambda who: [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    "half-hello": lambda who: [hello(who)[:40], None],
    "length-0": lambda who: [struct.pack(">I", 0) + b"\x01"],
    "length-4-gib": lambda who: [struct.pack(">I", 0xFFFFFFFF) + b"\x01" + bytes(5000)],
    "length-5-kib-first": lambda who: [struct.pack(">I", 5000) + b"\x01" + bytes(5000)],
    "unknown-type": lambda who: [hello(who), frame(99)],
    "bad-magic": lambda who: [hello(who, magic=b"FLOP")],
    "version-99": lambda who: [hello(who, version=99)],
    "version-0": lambda who: [hello(who, version=0)],
    "other-site": lambda who: [hello(who, site=os.urandom(16))],
    "long-name": lambda who: [hello(who, name=b"n" * 600)],
    "control-name": lambda who: [hello(who, name=b"\x1b[2J\nfake\x00"), have()],
    "have-first": lambda who: [have()],
    "two-hellos": lambda who: [hello(who), hello(who)],
    "rows-outside": lambda who: [hello(who), have(), rows(batch())],
    "wrong-rows": lambda who: opened(who) + [rows(batch(rows=9)), end()],
    "missing-rows": lambda who: opened(who) + [rows(batch()), rows(batch(), 3), end()],
    "rows-twice": lambda who: opened(who) + [rows(batch()), rows(batch()), end()],
    "wrong-end": lambda who: opened(who) + [rows(batch()), frame(6, uint(7) + bytes(8))],
    "many-rows": lambda who: opened(who) + [rows(batch(rows=1 << 60)), end()],
    "many-columns": lambda who: opened(who) + [rows(batch(columns=1 << 40)), end()],
    "no-key": lambda who: opened(who) + [rows(batch(key=0)), end()],
    "many-entries": lambda who: [hello(who), frame(2, bytes([0]) + uint(1 << 50))],
    "many-parts": lambda who: opened(who) + [
        frame(5, uint(number) + bytes((1 << 20) - 16)) for number in range(1, 81)],
    "garbage-after": lambda who: [hello(who), have(), os.urandom(20000)],
    "cut-frame": lambda who: [hello(who), have(), rows(batch())[:-5], None],
    "joiner-asks": lambda who: [hello(who, purpose=1), have()],
    "joiner-guesses": lambda who: [
        hello(who, purpose=1), frame(11, uint(3) + b"abc" + bytes(96))],
    "other-node": lambda who: [hello(who, node=os.urandom(16)), have()],
    "bad-statements": lambda who: [hello(who), frame(16, uint(1) + uint(80) + os.urandom(80))],
    "inspect-twice": lambda who: [hello(who), have()] + 2 * [frame(20, uint(1) + uint(0))],
    "inspect-disorder": lambda who: [hello(who), frame(20, uint(1) + uint(2) + b"\x05\x05")],
    "inspect-many": lambda who: [hello(who), frame(20, uint(1) + uint(1 << 40))],
    "account-unasked": lambda who: [hello(who), have(), account(3, b"\x00")],
    "account-kind": lambda who: [hello(who), have(), account(9)],
    "account-many": lambda who: [hello(who), have(), account(1, uint(1 << 40))],
    "account-many-rows": lambda who: [
        hello(who), have(), account(2, uint(1) + uint(1) + b"t" + uint(1 << 40))],
    "account-cut": lambda who: [hello(who), have(), account(0, uint(0) + uint(5))],
    "knocked-unasked": lambda who: [hello(who), frame(26, bytes(1))],
    "program-twice": lambda who: [hello(who)] + 2 * [frame(24, uint(1) + b"1")],
    "program-long": lambda who: [hello(who), frame(24, uint(33) + b"v" * 33)],
    "many-statements": lambda who: [hello(who), frame(16, uint(1 << 40))],
}


# Stories of which no Bye comes at once: `all` leaves them out.
LONG_STORIES = {
    "newer": lambda who: [hello(who, version=6), have()],
    "collected": lambda who: [hello(who, standing=COLLECTED), stability(COLLECTED), have()],
}


def answer(data):
    """The code of the Bye among the frames, if it is there."""
    while len(data) >= 5:
        length, kind = struct.unpack(">IB", data[:5])
        if kind == BYE and len(data) > 5:
            return str(data[5])
        data = data[4 + length:]
    return None


def tell(port, story, who, patience=15):
    data = b""
    try:
        with who.connect(port, patience) as peer:
            for piece in (STORIES | LONG_STORIES)[story](who):
                if piece is None:
                    who.finish(peer)
                else:
                    peer.sendall(piece)
            # Who says nothing does not hang up either: the node must.
            while story == "silence" or not answer(data):
                more = peer.recv(65536)
                if not more:
                    break
                data += more
    except TimeoutError:
        return "silent"
    except OSError:
        pass
    return answer(data) or "closed"


class Stranger:
    """Whoever talks without TLS."""

    site = node = bytes(15) + b"\xFA"

    def connect(self, port, patience):
        return socket.create_connection(("127.0.0.1", port), timeout=patience)

    def finish(self, peer):
        peer.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    who = Member(sys.argv[3]) if len(sys.argv) > 3 else Stranger()
    stories = STORIES if sys.argv[2] == "all" else [sys.argv[2]]
    for story in stories:
        print(story, tell(int(sys.argv[1]), story, who), flush=True)
