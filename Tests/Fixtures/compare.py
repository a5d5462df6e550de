#!/usr/bin/env python3
"""Tells whether databases hold the same rows, looking from outside with plain SQL.

usage: compare.py DB DB…

Compares every application table by quote() and typeof() of every column, ordered by key, and runs
the integrity and foreign key checks. Prints what differs; exits 0 only if nothing does.
"""
import sqlite3
import sys

from tables import quoted, tables


def rows(db, table):
    columns = ", ".join(f"quote({quoted(c)}), typeof({quoted(c)})" for c in table.visible)
    order = ", ".join(f"quote({quoted(c)})" for c in table.key) or "1"
    return db.execute(f"SELECT {columns} FROM {table.sql} ORDER BY {order}").fetchall()


def content(path):
    """All rows by table, and what the checks complain about."""
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    # quote() of text that is no UTF-8 must not stop the comparison.
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    db.execute("BEGIN")
    found = {table.name: rows(db, table) for table in tables(db).values()}
    complaints = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    orphans = db.execute("PRAGMA foreign_key_check").fetchall()
    complaints += [f"row {row[1]} of {row[0]} has no parent in {row[2]}" for row in orphans]
    db.execute("COMMIT")
    db.close()
    return found, complaints


def differences(name, one, other):
    one, other = dict.fromkeys(one), dict.fromkeys(other)
    only = [row for row in one if row not in other]
    missing = [row for row in other if row not in one]
    for sign, side in (("-", only), ("+", missing)):
        for row in side[:3]:
            yield f"  {name}: {sign} {' | '.join(row[::2])[:200]}"
    if len(only) + len(missing) > 0:
        yield f"  {name}: {len(only)} rows only in the first, {len(missing)} only in the other"


def main():
    paths = sys.argv[1:]
    first, complaints = content(paths[0])
    report = [f"{paths[0]}: {text}" for text in complaints]
    for path in paths[1:]:
        found, complaints = content(path)
        report += [f"{path}: {text}" for text in complaints]
        if found == first:
            continue
        report.append(f"{path} differs from {paths[0]}")
        for name in sorted(first.keys() | found.keys()):
            if name not in first or name not in found:
                report.append(f"  {name}: is missing in one of them")
            else:
                report += differences(name, first[name], found[name])
    print("\n".join(report) or f"{sum(map(len, first.values()))} rows in {len(first)} tables")
    sys.exit(1 if report else 0)


main()
