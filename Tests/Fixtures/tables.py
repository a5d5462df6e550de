"""What an outsider sees of a database: its tables, columns and keys, by plain SQL."""


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Table:
    """An application's table, as the schema describes it."""

    def __init__(self, db, name):
        self.name = name
        self.sql = quoted(name)
        info = db.execute("SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?)",
                          (name,)).fetchall()
        self.visible = [row[0] for row in info if row[4] != 1]
        self.columns = [row[0] for row in info if row[4] == 0]
        self.types = {row[0]: row[1].upper() for row in info}
        self.required = {row[0] for row in info if row[2] or row[3]}
        self.key = [row[0] for row in sorted(info, key=lambda row: row[3]) if row[3]]
        self.parents = {}
        for _, _, parent, column, target, *_ in db.execute(
                "SELECT * FROM pragma_foreign_key_list(?)", (name,)):
            self.parents[column] = (parent, target or column)
        self.unique = set()
        for index, origin in db.execute(
                "SELECT name, origin FROM pragma_index_list(?) WHERE \"unique\"", (name,)):
            if origin != "pk":
                self.unique |= {row[0] for row in db.execute(
                    "SELECT name FROM pragma_index_info(?)", (index,)) if row[0]}
        self.referenced = False


def tables(db):
    """The application's own tables by name."""
    names = [row[0] for row in db.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
        "AND substr(name, 1, 7) <> 'sqlite_' AND substr(name, 1, 10) <> '_flotilla_' "
        "ORDER BY name")]
    found = {name: Table(db, name) for name in names}
    for table in found.values():
        for parent, _ in table.parents.values():
            for other in found.values():
                other.referenced |= other.name.lower() == parent.lower()
    return found
