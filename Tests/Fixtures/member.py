"""Speaks TLS as the node of a database: its key, and a certificate with its credential.

member.py PORT DB [--key FILE] [--alpn NAME]…

Prints how a handshake as that node ends: `open`, or the reason that TLS gives. With --key the
credential of that node is shown with another key.
"""

import argparse
import hashlib
import os
import socket
import sqlite3
import ssl
import subprocess
import tempfile

CREDENTIAL = "2.25.134817263905415572810963348208146720391"


def uint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


def certify(key, credential, path):
    """Writes a certificate of a key that carries a credential."""
    part = CREDENTIAL + "=DER:" + credential.hex()
    openssl(
        "req", "-x509", "-new", "-key", key, "-subj", "/CN=flotilla", "-addext", part, "-out", path)


class Member:
    """The node of a database that does not run, or who shows its credential with another key."""

    def __init__(self, database, key=None, alpn=("flotilla/1",)):
        self.key = key or f"{database}-flotilla/keys/node.key"
        public = openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")[-32:]
        self.node = hashlib.sha256(public).digest()[:16]
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as db:
            look = "SELECT value FROM _flotilla_meta WHERE name = ?"
            self.site = bytes.fromhex(db.execute(look, ["site"]).fetchone()[0])
            rows = [row for row, in db.execute("SELECT bytes FROM _flotilla_statement ORDER BY id")]
        self.statements = rows
        rows = rows[:8]
        credential = uint(len(rows)) + b"".join(uint(len(row)) + row for row in rows)
        folder = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(database)))
        self.certificate = folder + "/certificate.pem"
        certify(self.key, credential, self.certificate)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.load_cert_chain(self.certificate, self.key)
        if alpn:
            self.context.set_alpn_protocols(list(alpn))

    def connect(self, port, patience=15, source="127.0.0.1"):
        stream = socket.create_connection(
            ("127.0.0.1", port), timeout=patience, source_address=(source, 0))
        return self.context.wrap_socket(stream)

    def finish(self, peer):
        """Says that nothing more comes; what the peer still says can be read."""
        socket.socket.shutdown(peer, socket.SHUT_WR)


def outcome(member, port):
    """How a handshake ends, as the dialler sees it: a node that trusts it speaks first."""
    try:
        with member.connect(port) as peer:
            return "open" if peer.recv(1) else "closed"
    except ssl.SSLError as error:
        return error.reason or "closed"
    except OSError:
        return "closed"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("database")
    parser.add_argument("--key")
    parser.add_argument("--alpn", nargs="*", default=["flotilla/1"])
    said = parser.parse_args()
    print(outcome(Member(said.database, said.key, alpn=said.alpn), said.port))
