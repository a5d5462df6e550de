"""What the writers were told, and whether replicas hold what follows from it."""
import pathlib
import sqlite3

from plan import KEYS


class History:
    """The history file of one writer beside its plan."""

    def __init__(self, path, plan):
        self.plan, self.fate, self.errors = plan, {}, []
        path = pathlib.Path(path)
        for line in path.read_text().splitlines() if path.exists() else []:
            # A writer that was killed can leave half a line, and the next one writes on.
            word, _, rest = line.partition(" ")
            number, _, why = rest.partition(" ")
            if word in ("try", "ok", "no") and number.isdigit():
                self.fate[int(number)] = word
                if word == "no":
                    self.errors.append(f"{path.name} {number}: {why}")
        # In the order of the plan, which is the order in which they were tried.
        self.tried = [transaction for transaction in plan if transaction.number in self.fate]

    @property
    def last(self):
        return max(self.fate, default=0)

    def count(self, word):
        return sum(fate == word for fate in self.fate.values())

    def ends(self):
        """What each row can be in the end as far as this writer knows: [whether that is all,
        {effect: transaction}]. Possible is the effect of the last acknowledged COMMIT, and of one
        after it that was cut off without an answer; before the first answer also what was before.
        """
        ends = {}
        for transaction in self.tried:
            fate = self.fate[transaction.number]
            for row, effect in transaction.effect.items() if fate != "no" else ():
                if fate == "ok":
                    ends[row] = [True, {}]
                ends.setdefault(row, [False, {}])[1][effect] = transaction.number
        return ends

    def halves(self, found):
        """Transactions of several rows that are neither whole nor replaced nor undone.

        The last that is acknowledged for a parcel decides about all its parts."""
        last = {}
        for transaction in self.tried:
            slots = {key[0] for table, key in transaction.effect if table == "parcel"}
            for slot in slots if self.fate[transaction.number] != "no" else ():
                sure = self.fate[transaction.number] == "ok"
                last[slot] = [transaction] if sure else last.get(slot, []) + [transaction]
        for slot, candidates in last.items():
            whole = any(all(found.get(row) == effect for row, effect in one.effect.items())
                        for one in candidates)
            if not whole and any(self.fate[one.number] == "ok" for one in candidates):
                yield f"parcel {slot} is not whole, after transaction {candidates[-1].number}"


def rows(path):
    """All rows of a replica from outside: {(table, key): (value, note)}, as quote() gives them."""
    db = sqlite3.connect(path, timeout=10)
    found = {}
    for table, keys in KEYS.items():
        columns = ", ".join(f"quote({name})" for name in [*keys, "value", "note"])
        for row in db.execute(f"SELECT {columns} FROM {table}"):
            found[table, row[:len(keys)]] = row[len(keys):]
    db.close()
    return found


def origin(row, content, histories):
    """Where the content of a row is from."""
    for writer, history in histories.items():
        for transaction in history.plan:
            if content is not None and transaction.effect.get(row) == content:
                fate = {"ok": "acknowledged", "no": "refused", "try": "without an answer"}
                fate = fate.get(history.fate.get(transaction.number), "never tried")
                return f"by transaction {transaction.number} of writer {writer}, {fate}"
    return "which nobody wrote"


def judge(histories, found):
    """What is wrong with the rows of a replica, one line each; `histories` by writer."""
    possible, sure, report = {}, set(), []
    for writer, history in histories.items():
        for row, (is_all, effects) in history.ends().items():
            possible.setdefault(row, {}).update(
                (effect, f"{writer}:{number}") for effect, number in effects.items())
            sure |= {row} if is_all else set()
    for row in sorted(possible.keys() | found.keys()):
        content, wanted = found.get(row), possible.get(row, {})
        if content in wanted or (content is None and row not in sure):
            continue
        table, key = row
        is_now = f"{content}, {origin(row, content, histories)}" if content else "not there"
        report.append(f"{table} {' '.join(key)} is {is_now}; it should be one of {wanted}")
    for history in histories.values():
        report += history.halves(found)
    return report
