#!/usr/bin/env python3
"""The data of the demo: a clinic's database, and a clock for edits on their way.

usage: clinic.py make DB
       clinic.py time DB SQL QUERY WANTED OTHER…

`make` writes about 5,000 rows, the same on every run. `time` runs SQL on DB through the sqlite3
program, waits until QUERY gives WANTED in each OTHER file, and prints the milliseconds for each;
it exits 1 if that takes more than ten seconds.
"""
import random
import sqlite3
import subprocess
import sys
import time

SCHEMA = """
CREATE TABLE patient (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, born TEXT NOT NULL,
  ward TEXT, note TEXT);
CREATE TABLE visit (id TEXT PRIMARY KEY NOT NULL, patient_id TEXT NOT NULL REFERENCES patient (id),
  at TEXT NOT NULL, reason TEXT, temperature REAL CHECK (temperature BETWEEN 30 AND 45));
CREATE TABLE stock (item TEXT NOT NULL, batch TEXT NOT NULL, quantity INTEGER NOT NULL
  CHECK (quantity >= 0), expires TEXT, PRIMARY KEY (item, batch)) WITHOUT ROWID;
CREATE INDEX visit_patient ON visit (patient_id, at);
"""
FIRST = "Amina Bilal Chidi Dalia Emeka Farida Grace Hassan Ines João Kofi Leïla Moses Nadia".split()
LAST = "Abebe Banda Camara Diallo Eze Farah Gómez Haddad Ibrahim Juma Keïta Lungu Mbeki".split()
REASONS = ["fever", "check-up", "vaccination", "wound", "cough", "pregnancy", "malaria test"]
ITEMS = ["amoxicillin 500 mg", "paracetamol 500 mg", "ORS sachets", "gauze 10 cm", "gloves M",
         "artemether 20 mg", "insulin 10 ml", "syringe 5 ml", "BCG vaccine", "zinc 20 mg"]


def make(path):
    dice = random.Random(2024)

    def day(first, last):
        return f"{dice.randint(first, last)}-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}"

    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(SCHEMA)
    db.execute("BEGIN")
    db.executemany("INSERT INTO patient VALUES (?, ?, ?, ?, NULL)", (
        (f"p-{i:04}", f"{dice.choice(FIRST)} {dice.choice(LAST)}", day(1935, 2023),
         dice.choice("ABC")) for i in range(1000)))
    db.executemany("INSERT INTO visit VALUES (?, ?, ?, ?, ?)", (
        (f"v-{i:05}", f"p-{dice.randrange(1000):04}", day(2023, 2024), dice.choice(REASONS),
         round(dice.gauss(37.2, 0.7), 1)) for i in range(3600)))
    db.executemany("INSERT INTO stock VALUES (?, ?, ?, ?)", (
        (item, f"L{batch:03}", dice.randint(0, 500), day(2025, 2027))
        for item in ITEMS for batch in range(40)))
    db.execute("COMMIT")
    db.close()


def clock(path, sql, query, wanted, others):
    waiting = {other: sqlite3.connect(other, timeout=5) for other in others}
    subprocess.run(["sqlite3", "-cmd", ".timeout 5000", path, sql], check=True)
    start, taken = time.monotonic(), {}
    while waiting and time.monotonic() - start < 10:
        for other in list(waiting):
            row = waiting[other].execute(query).fetchone()
            if row and str(row[0]) == wanted:
                taken[other] = time.monotonic() - start
                waiting.pop(other).close()
        time.sleep(0.0005)
    for other in others:
        print(f"{taken[other] * 1000:.1f}" if other in taken else "never")
    sys.exit(1 if waiting else 0)


def main():
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        clock(*sys.argv[2:5], sys.argv[5], sys.argv[6:])


main()
