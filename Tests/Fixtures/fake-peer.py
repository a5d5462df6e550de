"""Talks to a node as a broken, foreign or hostile peer would.

fake-peer.py PORT STORY [SITE]    prints the code of the Bye that came back, `closed`, or `silent`

SITE is the identity of the site as 32 hexadecimal digits. The bytes are those of docs/protocol.md.
"""

import os
import socket
import struct
import sys
import time

BYE = 14


def uint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def frame(kind, body=b""):
    return struct.pack(">IB", len(body) + 1, kind) + body


def hello(site, version=1, name=b"fake", magic=b"FLOT", purpose=0):
    body = magic + uint(version) + bytes([purpose]) + site + bytes(15) + b"\xFA"
    body += uint(len(name)) + name + os.urandom(8) + uint(2 * int(time.time() * 1000))
    return frame(1, body + uint(0) + bytes(8))


def have(flags=0):
    return frame(2, bytes([flags, 0]) + bytes.fromhex("9e3779b97f4a7c15") + bytes(8) + bytes([0]))


def begin():
    return frame(3, bytes([0]) + uint(0) + uint(1) + bytes([1]) + bytes(7) + b"\xA1" + uint(3))


def batch(rows=1, columns=2, key=1):
    body = uint(1) + uint(1) + b"t" + uint(key) + uint(columns) + uint(2) + b"id" + uint(1) + b"v"
    body += bytes(min(key, columns, 9))  # collations
    body += uint(1) + bytes(7) + b"\xA1" + uint(rows)
    body += bytes([0, 2, 0]) + uint(1) + uint(1 << 40) + os.urandom(8)
    return body + bytes([3]) + uint(1) + b"k" + bytes([3]) + uint(1) + b"v"


def end():
    return frame(6, uint(1) + bytes(8))


def rows(body, number=1):
    return frame(4, uint(number) + body)


def opened(site):
    return [hello(site), have(), begin()]


STORIES = {
    "silence": lambda site: [],
    "random": lambda site: [os.urandom(3000)],
    "http": lambda site: [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    "half-hello": lambda site: [hello(site)[:40], None],
    "length-0": lambda site: [struct.pack(">I", 0) + b"\x01"],
    "length-4-gib": lambda site: [struct.pack(">I", 0xFFFFFFFF) + b"\x01" + bytes(5000)],
    "length-5-kib-first": lambda site: [struct.pack(">I", 5000) + b"\x01" + bytes(5000)],
    "unknown-type": lambda site: [hello(site), frame(99)],
    "bad-magic": lambda site: [hello(site, magic=b"FLOP")],
    "version-99": lambda site: [hello(site, version=99)],
    "version-0": lambda site: [hello(site, version=0)],
    "other-site": lambda site: [hello(os.urandom(16))],
    "long-name": lambda site: [hello(site, name=b"n" * 600)],
    "control-name": lambda site: [hello(site, name=b"\x1b[2J\nfake\x00"), have()],
    "have-first": lambda site: [have()],
    "two-hellos": lambda site: [hello(site), hello(site)],
    "rows-outside": lambda site: [hello(site), have(), rows(batch())],
    "wrong-rows": lambda site: opened(site) + [rows(batch(rows=9)), end()],
    "missing-rows": lambda site: opened(site) + [rows(batch()), rows(batch(), 3), end()],
    "rows-twice": lambda site: opened(site) + [rows(batch()), rows(batch()), end()],
    "wrong-end": lambda site: opened(site) + [rows(batch()), frame(6, uint(7) + bytes(8))],
    "many-rows": lambda site: opened(site) + [rows(batch(rows=1 << 60)), end()],
    "many-columns": lambda site: opened(site) + [rows(batch(columns=1 << 40)), end()],
    "no-key": lambda site: opened(site) + [rows(batch(key=0)), end()],
    "many-entries": lambda site: [hello(site), frame(2, bytes([0]) + uint(1 << 50))],
    "many-parts": lambda site: opened(site) + [
        frame(5, uint(number) + bytes((1 << 20) - 16)) for number in range(1, 81)],
    "garbage-after": lambda site: [hello(site), have(), os.urandom(20000)],
    "cut-frame": lambda site: [hello(site), have(), rows(batch())[:-5], None],
    "joiner-asks": lambda site: [hello(bytes(16), purpose=1), have()],
    "joiner-guesses": lambda site: [
        hello(bytes(16), purpose=1), frame(11, uint(3) + b"abc" + uint(1) + b"x")],
}


def answer(data):
    """The code of the Bye among the frames, if it is there."""
    while len(data) >= 5:
        length, kind = struct.unpack(">IB", data[:5])
        if kind == BYE and len(data) > 5:
            return str(data[5])
        data = data[4 + length:]
    return None


def tell(port, story, site, patience=15):
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as peer:
        data = b""
        try:
            for piece in STORIES[story](site):
                if piece is None:
                    peer.shutdown(socket.SHUT_WR)
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


if __name__ == "__main__":
    site = bytes.fromhex(sys.argv[3]) if len(sys.argv) > 3 else os.urandom(16)
    stories = STORIES if sys.argv[2] == "all" else [sys.argv[2]]
    for story in stories:
        print(story, tell(int(sys.argv[1]), story, site), flush=True)
