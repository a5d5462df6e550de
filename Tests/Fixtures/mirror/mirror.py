#!/usr/bin/env python3
"""A site and a server that both write, while node, server and connections are killed.

    mirror.py can                      says what is missing, or ends with 0
    mirror.py SECONDS SEED [DATABASE]  DATABASE is copied and mirrored instead of tables made here

The server is one of its own, on a socket in a folder of its own. In the end both sides are read
with their own SQL and compared, and nobody may write any more.
"""
import decimal
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

try:
    import pymysql
except ImportError:
    pymysql = None

SCHEMA = """
CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));
CREATE TABLE track(id INTEGER PRIMARY KEY, name TEXT, price NUMERIC(10,2), length REAL, pic BLOB);
CREATE TABLE list(album INTEGER, track INTEGER, place INTEGER, PRIMARY KEY(album, track));
"""


def missing():
    if pymysql is None:
        return "python3-pymysql is not installed"
    for program in ("mariadbd", "mariadb-install-db"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


class Place:
    def __init__(self, folder):
        self.folder = folder
        self.database = f"{folder}/shop.db"
        self.socket = f"{folder}/socket"
        self.node = self.server = None

    def flotilla(self, *words):
        return subprocess.run(["flotilla", *words], capture_output=True, text=True, timeout=300)

    def must(self, *words):
        ended = self.flotilla(*words)
        if ended.returncode:
            sys.exit(f"flotilla {' '.join(words)}: {ended.returncode} {ended.stdout}{ended.stderr}")
        return ended.stdout

    def install(self):
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data",
             "--auth-root-authentication-method=normal", "--skip-test-db",
             f"--user={os.environ.get('USER', 'root')}"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_server(self):
        self.server = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data",
             f"--socket={self.socket}", "--skip-networking", "--innodb-buffer-pool-size=32M",
             f"--user={os.environ.get('USER', 'root')}"],
            stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/server.log", "a"))
        for _ in range(600):
            try:
                self.connect(None).close()
                return
            except pymysql.err.OperationalError:
                time.sleep(0.1)
        sys.exit("the server does not start")

    def connect(self, database="shop"):
        return pymysql.connect(
            unix_socket=self.socket, user="root", database=database, charset="utf8mb4")

    def start_node(self):
        self.node = subprocess.Popen(
            ["flotilla", "run", self.database, "--no-discovery", "--listen", "127.0.0.1:0"],
            stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/node.log", "a"))

    def follows(self):
        for _ in range(600):
            if '"state":"following"' in self.flotilla("mirror", self.database, "status",
                                                      "--json").stdout:
                return
            time.sleep(0.2)
        sys.exit("the mirror does not follow: "
                 + self.flotilla("mirror", self.database, "status").stdout)

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self):
        for process in (self.node, self.server):
            if process and process.poll() is None:
                self.kill(process)


def site_tables(place):
    site = sqlite3.connect(place.database)
    tables = {}
    for (name,) in site.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_flotilla*' "
            "AND name NOT GLOB 'sqlite_*'").fetchall():
        columns = site.execute(f"SELECT name, type, pk FROM pragma_table_info('{name}')").fetchall()
        tables[name] = columns
    site.close()
    return tables


def edit(draw, run, mark, tables, who):
    """One edit: with the SQL that both sides understand."""
    name = draw.choice(sorted(tables))
    # Both sides read these quotes.
    columns = [(f"`{c[0]}`", *c[1:]) for c in tables[name]]
    name = f"`{name}`"
    keys = [c for c in columns if c[2]]
    others = [c for c in columns if not c[2]]
    key = [draw.randint(1, 60) for _ in keys]
    where = " AND ".join(f"{c[0]} = {mark}" for c in keys)
    chance = draw.random()
    if chance < 0.15:
        return run(f"DELETE FROM {name} WHERE {where}", key)
    values = [value(draw, c[1], who) for c in others]
    if chance < 0.6 and others:
        chosen = draw.randrange(len(others))
        return run(f"UPDATE {name} SET {others[chosen][0]} = {mark} WHERE {where}",
                   [values[chosen]] + key)
    names = ", ".join(c[0] for c in keys + others)
    marks = ", ".join([mark] * len(columns))
    return run(f"REPLACE INTO {name}({names}) VALUES ({marks})", key + values)


def value(draw, kind, who):
    if kind == "BLOB":
        return draw.choice([None, draw.randbytes(draw.randint(0, 2000))])
    if kind == "REAL":
        return draw.choice([None, draw.random(), draw.random() * 1e300, 7.0])
    if kind.startswith(("NUMERIC", "DECIMAL")):
        return draw.choice([None, draw.randint(0, 10**6) / 100])
    if kind == "INTEGER":
        return draw.choice([None, draw.randint(1, 60)])
    return f"{who} {draw.random()} " + draw.choice(["", "å😀", "☃" * 300, "a "])


class Writers:
    def __init__(self, place, seed):
        self.place = place
        self.tables = site_tables(place)
        self.isOver = False
        self.count = {"site": 0, "server": 0, "again": 0}
        self.threads = [threading.Thread(target=self.site, args=(random.Random(seed),))]
        self.threads += [
            threading.Thread(target=self.server, args=(random.Random(seed + n),))
            for n in range(1, 9)]
        for thread in self.threads:
            thread.start()

    def site(self, draw):
        while not self.isOver:
            try:
                site = sqlite3.connect(self.place.database, timeout=20)
                with site:
                    for _ in range(draw.randint(1, 8)):
                        edit(draw, site.execute, "?", self.tables, "site")
                site.close()
                self.count["site"] += 1
            except (sqlite3.OperationalError, sqlite3.IntegrityError):
                self.count["again"] += 1
            time.sleep(draw.random() * 0.03)

    def server(self, draw):
        server = None
        while not self.isOver:
            try:
                server = server or self.place.connect()
                with server.cursor() as cursor:
                    for _ in range(draw.randint(1, 5)):
                        edit(draw, cursor.execute, "%s", self.tables, "server")
                    # Numbers of the journal are given before this, and seen after it.
                    time.sleep(draw.random() * 0.05)
                if draw.random() < 0.2:
                    server.rollback()
                else:
                    server.commit()
                self.count["server"] += 1
            except pymysql.err.MySQLError:
                server = None
                self.count["again"] += 1
                time.sleep(0.2)

    def end(self):
        self.isOver = True
        for thread in self.threads:
            thread.join()


def disturb(place, draw):
    what = draw.choice(["node", "server", "connections"])
    if what == "node":
        place.kill(place.node)
        time.sleep(draw.random() * 2)
        place.start_node()
    elif what == "server":
        place.kill(place.server)
        time.sleep(draw.random() * 3)
        place.start_server()
    else:
        server = place.connect()
        with server.cursor() as cursor:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'flo'")
            for (number,) in cursor.fetchall():
                cursor.execute(f"KILL {number}")
        server.close()
    return what


def plain(one):
    if isinstance(one, decimal.Decimal):
        one = float(one)
    return int(one) if isinstance(one, float) and one.is_integer() else one


def rows(connection, names):
    cursor = connection.cursor()
    found = {}
    for name in names:
        cursor.execute(f"SELECT * FROM `{name}`")
        found[name] = sorted(
            (tuple(plain(one) for one in row) for row in cursor.fetchall()), key=repr)
    connection.close()
    return found


def differences(place, tables):
    site = rows(sqlite3.connect(place.database), tables)
    server = rows(place.connect(), tables)
    return {
        name: (sorted(set(site[name]) - set(server[name]), key=repr)[:3],
               sorted(set(server[name]) - set(site[name]), key=repr)[:3])
        for name in tables if site[name] != server[name]}


def written(place):
    server = place.connect()
    with server.cursor() as cursor:
        cursor.execute("SELECT number FROM flotilla_state")
        number = cursor.fetchone()[0]
    server.close()
    site = sqlite3.connect(place.database)
    edits = site.execute("SELECT max(seq) FROM _flotilla_origin").fetchone()[0]
    site.close()
    return number, edits


def prepare(place, source):
    place.install()
    place.start_server()
    server = place.connect(None)
    with server.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE USER flo@localhost IDENTIFIED BY 'secret'")
        cursor.execute("GRANT ALL ON shop.* TO flo@localhost")
    server.close()
    with open(f"{place.folder}/password", "w") as file:
        file.write("secret\n")
    if source:
        shutil.copy(source, place.database)
        os.chmod(place.database, 0o644)
    else:
        site = sqlite3.connect(place.database)
        site.executescript(SCHEMA)
        site.close()
    place.must("init", place.database, "--all")
    place.must(
        "mirror", place.database, "add", f"mysql://flo@localhost/shop?socket={place.socket}",
        "--password-file", f"{place.folder}/password", "--create", "--yes")
    place.start_node()
    place.follows()


def run(place, seconds, seed, source):
    prepare(place, source)
    draw = random.Random(seed)
    writers = Writers(place, seed)
    end = time.time() + seconds
    events = []
    while time.time() < end:
        time.sleep(1 + draw.random() * 4)
        events.append(disturb(place, draw))
    writers.end()
    print(writers.count, events)
    place.follows()
    for _ in range(600):
        found = differences(place, writers.tables)
        if not found:
            break
        time.sleep(0.2)
    if found:
        sys.exit(f"they differ: {found}\n" + open(f"{place.folder}/node.log").read()[-2000:])
    time.sleep(2)
    before = written(place)
    time.sleep(5)
    if written(place) != before:
        sys.exit(f"something still writes: {before} {written(place)}")
    verify = place.flotilla("mirror", place.database, "verify", "--timeout", "60s")
    if verify.returncode:
        sys.exit(f"verify: {verify.stdout}{verify.stderr}")
    print("equal", {name: len(rows(place.connect(), [name])[name]) for name in writers.tables})


def main():
    obstacle = missing()
    if sys.argv[1:] == ["can"]:
        print(obstacle or "")
        sys.exit(1 if obstacle else 0)
    place = Place(tempfile.mkdtemp(prefix="flotilla-mirror-"))
    try:
        run(place, int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if sys.argv[3:] else None)
    finally:
        place.end()
        shutil.rmtree(place.folder, ignore_errors=True)


main()
