"""Tells from outside, with plain SQL, whether a shop on two machines lost or mixed up anything."""
import collections
import json
import sqlite3

CHILDREN = [
    ("purchase", "customer_id", "customer"),
    ("line", "purchase_id", "purchase"),
    ("visit", "customer_id", "customer"),
]
# The books of migration tools tell what was done to one file.
BOOKS = {"django_migrations", "alembic_version", "migrations"}


def opened(path):
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


def tables(db):
    rows = db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' AND name NOT LIKE '\\_flotilla%' ESCAPE '\\'")
    return {row["name"] for row in rows} - BOOKS


def dump(db):
    """Every row of every table of the application, columns by name: files may order them apart."""
    found = {}
    for table in tables(db):
        columns = sorted(row["name"] for row in db.execute(f'PRAGMA table_info("{table}")'))
        shown = ", ".join(f"'{c}=' || quote(\"{c}\")" for c in columns)
        found[table] = {tuple(row) for row in db.execute(f'SELECT {shown} FROM "{table}"')}
    return found


def differences(paths):
    """What is not the same in two files, or not sound in one of them; nothing if all is well."""
    dbs = [opened(path) for path in paths]
    report = []
    for path, db in zip(paths, dbs):
        broken = db.execute("PRAGMA foreign_key_check").fetchall()
        report += [f"{path}: row {row[1]} of {row[0]} has no parent" for row in broken]
        sound = db.execute("PRAGMA integrity_check").fetchone()[0]
        report += [] if sound == "ok" else [f"{path}: {sound}"]
    one, two = map(dump, dbs)
    for table in sorted(one.keys() | two.keys()):
        if table not in one or table not in two:
            report.append(f"{table} is in one of the two files alone")
            continue
        only = [("-", row) for row in one[table] - two[table]]
        only += [("+", row) for row in two[table] - one[table]]
        report += [f"{table}: {sign} {' | '.join(row)}" for sign, row in only[:6]]
        if only:
            report.append(f"{table}: {len(only)} rows differ")
    return report


class Shop:
    """The rows of one file by the tokens that their authors gave them."""

    def __init__(self, path):
        self.db = opened(path)
        self.rows = {}
        for table in ("customer", "purchase", "line", "visit"):
            for row in self.db.execute(f"SELECT * FROM {table}"):
                self.rows.setdefault((table, row["token"]), []).append(dict(row))

    def twice(self):
        return [key for key, rows in self.rows.items() if len(rows) > 1]

    def strayed(self):
        """Children that hang under another parent than the one that their author meant."""
        for child, column, parent in CHILDREN:
            yield from (
                f"{child} {row['token']} was meant for {row['meant']}, hangs under {row['found']}"
                for row in self.db.execute(
                    f"SELECT c.token, c.meant, p.token AS found FROM {child} c "
                    f"LEFT JOIN {parent} p ON p.id = c.{column} WHERE c.meant IS NOT p.token"))

    def tags(self):
        rows = self.db.execute(
            "SELECT p.token, t.name FROM purchase_tags x JOIN purchase p ON p.id = x.purchase_id "
            "JOIN tag t ON t.id = x.tag_id")
        return {tuple(row) for row in rows}


def wanted(logs):
    """What was committed: the last values of each row by table and token; None if it was deleted.

    Of a row that both sites edit each committed value is as good as the other.
    """
    rows, shared, tags = {}, collections.defaultdict(set), set()
    commits = 0
    for log in logs:
        for line in open(log):
            facts = json.loads(line)
            commits += 1
            for table, token, values in facts["set"]:
                if token.startswith("shared"):
                    shared[token].add(values["note"])
                else:
                    rows[table, token] = {**(rows.get((table, token)) or {}), **values}
            for table, token in facts["gone"]:
                rows[table, token] = None
            tags |= {tuple(tag) for tag in facts["tag"]}
    return rows, shared, tags, commits


def lacking(values, rows):
    """The committed values that none of these rows shows."""
    def shows(row, name):
        return row.get("full_name" if name == "name" and "full_name" in row else name)

    return {n: v for n, v in values.items() if all(shows(row, n) != v for row in rows)}


def verdict(paths, logs, conflicts):
    """Everything that is wrong after both machines have met, and a summary."""
    rows, shared, tags, commits = wanted(logs)
    shop = Shop(paths[0])
    report = [f"{key} is there twice" for key in shop.twice()] + list(shop.strayed())
    losers, undone = {}, set()
    for conflict in conflicts:
        if (conflict["loser"] or {}).get("deleted"):
            undone.add((conflict["table"], conflict["key"].get("id")))
        row = (conflict["loser"] or {}).get("row") or {}
        losers.setdefault((conflict["table"], row.get("token")), []).append(row)
    kept = 0
    for key, values in rows.items():
        found = shop.rows.get(key, [None])[0]
        if values is None and found:
            if (key[0], found["id"]) in undone:
                kept += 1
            else:
                report.append(f"{key} was deleted and is there")
        elif values is None:
            continue
        elif lack := lacking(values, [found] if found else []):
            if lack := lacking(lack, losers.get(key, [])):
                report.append(f"{key} should have {lack}, is {found}")
            else:
                kept += 1
    for token, notes in shared.items():
        found = shop.rows["customer", token][0]["note"]
        report += [] if found in notes else [f"{token} is {found!r}, which nobody committed"]
    missing = tags - shop.tags()
    report += [f"tag {tag} of {purchase} is missing" for purchase, tag in sorted(missing)]
    counts = collections.Counter(
        f"{c['reason']}/{c['state']}" + ("" if "shared" in str(c["loser"]) else " own row")
        for c in conflicts)
    return report, (
        f"{commits} commits, {len(rows)} rows, {kept} kept in a conflict log; conflicts: "
        f"{dict(counts)}")
