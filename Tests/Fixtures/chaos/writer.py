#!/usr/bin/env python3
"""usage: writer.py DB PLAN HISTORY FIRST: carries out a plan's transactions from number FIRST on.

A line of the plan: number, seconds to wait before it, statements, with tabs between. A line of the
history: "try N", then "ok N" once COMMIT has said so, or "no N" and why it did not come to pass.
The writers in other languages do the same.
"""
import os
import select
import sqlite3
import sys

path, plan, history, first = *sys.argv[1:4], int(sys.argv[4])
db = sqlite3.connect(path, timeout=8, isolation_level=None)
with open(plan, encoding="utf-8") as plan, open(history, "a", buffering=1) as history:
    for line in plan:
        number, pause, *statements = line.rstrip("\n").split("\t")
        if int(number) < first:
            continue
        if os.path.exists("stop"):
            break
        # Not time.sleep, which asks for a moment of a clock that libfaketime gets wrong.
        select.select([], [], [], float(pause))
        history.write(f"try {number}\n")
        try:
            db.execute("BEGIN IMMEDIATE")
            for statement in statements:
                db.execute(statement)
            db.execute("COMMIT")
            history.write(f"ok {number}\n")
        except sqlite3.Error as error:
            history.write(f"no {number} {error}\n")
            if db.in_transaction:
                db.execute("ROLLBACK")
