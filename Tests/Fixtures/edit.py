#!/usr/bin/env python3
"""Edits a database as applications would: one busy round of one of several machines.

usage: edit.py DB HOST ROUND

Inserts, edits, deletes and re-keys rows of every table, some through Python's sqlite3 and some
through the sqlite3 program, each with a busy timeout of five seconds and no other care. Rounds of
several hosts may run at once on their replicas: new keys and unique values carry the host, rows
that others refer to stay, references point to rows that stay. So no constraint breaks when the
replicas meet, whatever the order, while edits and deletes of the same row do meet. Only rows with
a unique value belong to one host each: re-keyed here and edited there, the value would be twice.
"""
import random
import sqlite3
import subprocess
import sys
import zlib

from tables import quoted, tables


class Round:
    def __init__(self, path, host, number):
        self.path, self.host, self.number = path, host, number
        self.dice = random.Random(f"{host}/{number}")
        self.count = 0
        self.db = sqlite3.connect(path, timeout=5, isolation_level=None)
        self.db.execute("PRAGMA foreign_keys = ON")
        self.tables = tables(self.db)

    # Values

    def fresh(self, kind, sample):
        """A value that no other host and no other round makes."""
        self.count += 1
        number = self.host * 10_000_000 + self.number * 100_000 + self.count
        if kind.startswith("INT") or (isinstance(sample, int) and "TEXT" not in kind):
            return number
        if kind == "REAL" or isinstance(sample, float):
            return number + 0.5
        if kind == "BLOB" or isinstance(sample, bytes):
            return number.to_bytes(5, "big")
        return f"h{self.host}-r{self.number}-{self.count} é'\""

    def changed(self, table, column, value):
        kind = table.types[column]
        if value is not None and column not in table.required and self.dice.random() < 0.1:
            return None
        if isinstance(value, bool) or value is None:
            return self.fresh(kind, None) if kind in ("", "ANY", "TEXT") else value
        if isinstance(value, int):
            return value + self.host if abs(value) < 2**60 else value - value // 3
        if isinstance(value, float):
            return value / 2 + self.host / 100
        if isinstance(value, bytes):
            return value[:2000] + bytes([self.host, self.number])
        return f"{value[:2000]} h{self.host}r{self.number}"

    # Choosing

    def rows(self, table, count):
        names = ", ".join(quoted(column) for column in table.columns)
        found = self.db.execute(f"SELECT {names} FROM {table.sql}").fetchall()
        found = [dict(zip(table.columns, row)) for row in found]
        if table.unique:
            found = [row for row in found if self.owns(row, sorted(table.unique))]
        return self.dice.sample(found, min(count, len(found)))

    def owns(self, row, columns):
        return zlib.crc32(repr([row[column] for column in columns]).encode()) % 3 + 1 == self.host

    def parent(self, table, column, value):
        """A parent that is there; NULL stays NULL."""
        if value is None:
            return None
        name, target = table.parents[column]
        name, target = quoted(name), quoted(target)
        found = self.db.execute(f"SELECT {target} FROM {name} ORDER BY random() LIMIT 1").fetchone()
        return found[0] if found else None

    def new_row(self, table, sample):
        """A row like the sample with a key of this host; None if the dice find none."""
        row = dict(sample)
        for column in table.columns:
            if column in table.parents:
                row[column] = self.parent(table, column, row[column])
            elif column in table.key or column in table.unique:
                row[column] = self.fresh(table.types[column], row[column])
            else:
                row[column] = self.changed(table, column, row[column])
        if all(column in table.parents for column in table.key):
            return row if self.owns(row, table.key) else None
        return row

    # Statements, as text, so that the sqlite3 program can run them too

    def literal(self, value):
        if value is None:
            return "NULL"
        if isinstance(value, bytes):
            return f"x'{value.hex()}'"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        # The smallest integer cannot be written as such: "-9223372036854775808" is a real there.
        return "(-9223372036854775807 - 1)" if value == -(2**63) else repr(value)

    def where(self, table, row):
        return " AND ".join(f"{quoted(c)} = {self.literal(row[c])}" for c in table.key)

    def insert(self, table, row, verb="INSERT", tail=""):
        names = ", ".join(quoted(column) for column in table.columns)
        values = ", ".join(self.literal(row[column]) for column in table.columns)
        return f"{verb} INTO {table.sql} ({names}) VALUES ({values}){tail}"

    def update(self, table, row, changes):
        sets = ", ".join(f"{quoted(c)} = {self.literal(v)}" for c, v in changes.items())
        return f"UPDATE {table.sql} SET {sets} WHERE {self.where(table, row)}"

    def edits(self, table):
        """The statements of this round for one table."""
        fixed = set(table.key) | table.unique | set(table.parents)
        loose = [column for column in table.columns if column not in fixed]
        for sample in self.rows(table, 6):
            row = self.new_row(table, sample)
            if row:
                yield self.insert(table, row)
        for row in self.rows(table, 6 if loose else 0):
            some = self.dice.sample(loose, self.dice.randint(1, len(loose)))
            yield self.update(table, row, {c: self.changed(table, c, row[c]) for c in some})
        for row in self.rows(table, 2 if loose else 0):
            column = self.dice.choice(loose)
            value = self.literal(self.changed(table, column, row[column]))
            keys = ", ".join(quoted(column) for column in table.key)
            yield self.insert(
                table, row, tail=f" ON CONFLICT ({keys}) DO UPDATE SET {quoted(column)} = {value}")
        if not table.key or table.referenced:
            return
        for row in self.rows(table, 3):
            yield f"DELETE FROM {table.sql} WHERE {self.where(table, row)}"
        for row in self.rows(table, 2):
            key = {c: row[c] for c in table.key if c not in table.parents}
            key = {c: self.fresh(table.types[c], value) for c, value in key.items()}
            if key:
                yield self.update(table, row, key)
        for row in self.rows(table, 2 if not table.unique else 0):
            yield self.insert(table, row, verb="INSERT OR REPLACE")
        for row in self.rows(table, 1):
            yield f"DELETE FROM {table.sql} WHERE {self.where(table, row)}"
            yield self.insert(table, row)

    # Running

    def allowed(self, statement):
        """Runs a statement; an application that meets a constraint does something else instead."""
        self.db.execute("SAVEPOINT one")
        try:
            self.db.execute(statement)
            return True
        except sqlite3.IntegrityError:
            self.db.execute("ROLLBACK TO one")
            return False
        finally:
            self.db.execute("RELEASE one")

    def edit(self, table, by_program):
        self.db.execute("BEGIN IMMEDIATE")
        done = [statement for statement in self.edits(table) if self.allowed(statement)]
        self.db.execute("ROLLBACK" if by_program else "COMMIT")
        if by_program and done:
            lines = ["BEGIN IMMEDIATE", *done, "COMMIT"]
            script = ".timeout 5000\n.bail on\n" + "".join(f"{line};\n" for line in lines)
            subprocess.run(["sqlite3", self.path], input=script, text=True, check=True)
        return len(done)

    def run(self):
        names = sorted(self.tables)
        self.dice.shuffle(names)
        return sum(self.edit(self.tables[name], i % 2 == 1) for i, name in enumerate(names))


def main():
    path, host, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(f"host {host}, round {number}: {Round(path, host, number).run()} statements")


main()
