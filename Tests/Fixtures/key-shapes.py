#!/usr/bin/env python3
"""Makes a database with the shapes of keys, names and values that real ones have.

usage: key-shapes.py DB

The same on every run. Needs no SQLite newer than 3.37 (STRICT).
"""
import random
import sqlite3
import sys

SCHEMA = """
CREATE TABLE text_key (id TEXT PRIMARY KEY NOT NULL, note TEXT, number INTEGER);
CREATE TABLE blob_key (id BLOB PRIMARY KEY NOT NULL, payload BLOB, label TEXT);
CREATE TABLE real_key (at REAL PRIMARY KEY NOT NULL, value REAL, unit TEXT);
CREATE TABLE int_not_rowid (id INT PRIMARY KEY NOT NULL, name TEXT);
CREATE TABLE rowid_key (id INTEGER PRIMARY KEY, name TEXT, amount NUMERIC);
CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL DEFAULT 'none');
CREATE TABLE any_key (id PRIMARY KEY NOT NULL, value);
CREATE TABLE nocase_key (name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, value TEXT);
CREATE TABLE composite (ward TEXT NOT NULL, bed INTEGER NOT NULL, patient TEXT,
  PRIMARY KEY (ward, bed));
CREATE TABLE no_rowid (a TEXT NOT NULL, b REAL NOT NULL, c BLOB NOT NULL, d TEXT,
  PRIMARY KEY (c, a DESC, b)) WITHOUT ROWID;
CREATE TABLE strict_types (id TEXT PRIMARY KEY NOT NULL, i INTEGER, r REAL, t TEXT, b BLOB, x ANY)
  STRICT;
CREATE TABLE generated (id TEXT PRIMARY KEY NOT NULL, first TEXT, last TEXT, price REAL,
  whole TEXT GENERATED ALWAYS AS (first || ' ' || last) STORED,
  gross REAL AS (price * 1.19) VIRTUAL);
CREATE TABLE "two words" ("the key" TEXT PRIMARY KEY NOT NULL, "select" TEXT, "a.b" INTEGER);
CREATE TABLE "quo""ted 'name'" ("k""ey" TEXT PRIMARY KEY NOT NULL, "va'lue" TEXT, [x y] TEXT);
CREATE TABLE "Größe 測定 🚢" ("schlüssel" TEXT PRIMARY KEY NOT NULL, "größe" REAL, "メモ" TEXT);
CREATE TABLE unique_mail (id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE NOT NULL, note TEXT);
CREATE TABLE checked (id TEXT PRIMARY KEY NOT NULL, share REAL NOT NULL DEFAULT 0
  CHECK (share BETWEEN 0 AND 1), state TEXT CHECK (state IN ('open', 'closed')), note TEXT);
CREATE TABLE clinic (id TEXT PRIMARY KEY NOT NULL, name TEXT);
CREATE TABLE visit (id TEXT PRIMARY KEY NOT NULL,
  clinic_id TEXT NOT NULL REFERENCES clinic (id) ON DELETE CASCADE, note TEXT);
CREATE TABLE folder (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES folder (id), name TEXT);
CREATE TABLE nothing_yet (id TEXT PRIMARY KEY NOT NULL, note TEXT);
CREATE INDEX visit_note ON visit (note COLLATE NOCASE) WHERE note IS NOT NULL;
CREATE VIEW open_checks AS SELECT id FROM checked WHERE state = 'open';
"""

ODD = [None, "", "o'clock", 'say "hi"', "line\nbreak", "Ünïcödé 測定 🚢", b"", b"\x00\xff", 0, -1,
       2**63 - 1, -(2**63), 2**53 + 1, 0.1, 1e308, 5e-324, -2.5, "1", "1.0", "x" * 5000]


def fill(db, dice):
    def many(table, rows):
        rows = list(rows)
        marks = ",".join("?" * len(rows[0]))
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        names = ",".join('"' + name.replace('"', '""') + '"' for name in columns)
        db.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)

    def odd():
        return dice.choice(ODD)

    def word():
        return "".join(dice.choice("aäbcdeéfgh ") for _ in range(dice.randint(1, 12)))

    span = range(120)
    many("text_key", ((f"k-{i:03}", odd(), i) for i in span))
    many("blob_key", ((bytes([i, 0, 255 - i]), dice.randbytes(i), word()) for i in span))
    many("real_key", ((i + i / 7, dice.random(), "°C") for i in span))
    many("int_not_rowid", ((i * 11 - 300, word()) for i in span))
    many("rowid_key", ((i - 5, word(), dice.choice([1, 2.5, "n/a"])) for i in span))
    many("counted", ((i + 1, word()) for i in span))
    many("any_key", ((k, odd()) for k in ["", "a", "1", 1, 2.5, b"1", b"", -7, 2**60, "測"]))
    many("nocase_key", ((f"Name {i}", word()) for i in span))
    many("composite", ((ward, bed, word()) for ward in "ABC" for bed in range(40)))
    many("no_rowid", ((word(), i / 3, bytes([i % 7]), word()) for i in span))
    many("strict_types", ((f"s{i}", i, i / 3, word(), bytes([i]), odd()) for i in span))
    many("generated", ((f"g{i}", word(), word(), i / 4) for i in span))
    many('"two words"', ((f"key {i}", word(), i) for i in span))
    many('''"quo""ted 'name'"''', ((f"it's \"{i}\"", word(), word()) for i in span))
    many('"Größe 測定 🚢"', ((f"größe {i} 🚢", i / 9, odd()) for i in span))
    many("unique_mail", ((f"u{i}", f"u{i}@example.org", word()) for i in span))
    many("checked", ((f"c{i}", i / 120, dice.choice(["open", "closed"]), word()) for i in span))
    many("clinic", ((f"clinic-{i}", word()) for i in range(10)))
    many("visit", ((f"v{i}", f"clinic-{i % 10}", word()) for i in span))
    many("folder", ((f"f{i}", f"f{(i - 1) // 3}" if i else None, word()) for i in span))


def main():
    db = sqlite3.connect(sys.argv[1], isolation_level=None)
    db.executescript(SCHEMA)
    db.execute("BEGIN")
    fill(db, random.Random(1))
    db.execute("COMMIT")
    db.close()


main()
