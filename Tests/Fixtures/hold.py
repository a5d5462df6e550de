"""Keeps a database locked: hold.py DATABASE exclusive|immediate|private SECONDS

`private` is PRAGMA locking_mode = EXCLUSIVE. Prints `held` once the lock is taken.
"""

import sqlite3
import sys
import time

connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
if sys.argv[2] == "private":
    connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE t SET v = v WHERE id = 'k1'")
    connection.execute("COMMIT")
else:
    connection.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
time.sleep(float(sys.argv[3]))
