"""Strangers at the door of a node that do not come in.

crowd.py slow PORT          begins a handshake with one byte a second; prints `closed` when let go
crowd.py many PORT COUNT    keeps COUNT connections half-open, from 100 addresses, and replaces
                            those that are let go; prints a line when all were opened once
crowd.py silent PORT COUNT  the same, but they say nothing
crowd.py drip PORT COUNT    the same, but each says one byte a second
"""

import selectors
import socket
import ssl
import sys
import time


def greeting():
    """The first bytes of a handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["flotilla/1"])
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def slow(port):
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.settimeout(1)
        for byte in greeting():
            try:
                stream.sendall(bytes([byte]))
                if not stream.recv(100):
                    return "closed"
            except TimeoutError:
                continue
            except OSError:
                return "closed"
    return "never let go"


def many(port, count, words=b"", drips=False):
    waiting = selectors.DefaultSelector()

    def arrive(number):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stream.bind((f"127.0.1.{number % 100 + 1}", 0))
        stream.settimeout(10)
        try:
            stream.connect(("127.0.0.1", port))
            stream.sendall(words)
        except OSError:
            pass
        waiting.register(stream, selectors.EVENT_READ)

    for number in range(count):
        arrive(number)
    print("all were there", flush=True)
    number, spoken = 0, time.monotonic()
    while True:
        if drips and time.monotonic() - spoken > 1:
            spoken = time.monotonic()
            for key in list(waiting.get_map().values()):
                try:
                    key.fileobj.send(b"\x16")
                except OSError:
                    pass
        for key, _ in waiting.select(1):
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            number += 1
            arrive(number)
        # A few hundred newcomers a second are enough to keep the door full.
        time.sleep(0.05)


if __name__ == "__main__":
    if sys.argv[1] == "slow":
        print(slow(int(sys.argv[2])))
    elif sys.argv[1] == "many":
        many(int(sys.argv[2]), int(sys.argv[3]), greeting()[:100])
    else:
        many(int(sys.argv[2]), int(sys.argv[3]), drips=sys.argv[1] == "drip")
