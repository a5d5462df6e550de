"""What the chaos test is going to do, drawn from a seed: the transactions of every writer, and what
happens to nodes, links and clocks.

A transaction has the same effect whatever it finds, so that its effect is known from the plan
alone: a row is written whole or is gone afterwards, never changed from what it was.
"""
import random

SCHEMA = """
CREATE TABLE own (id TEXT PRIMARY KEY NOT NULL, value, note TEXT);
CREATE TABLE shared (id INTEGER PRIMARY KEY, value, note TEXT);
CREATE TABLE parcel (slot TEXT NOT NULL, part INTEGER NOT NULL, value, note TEXT,
  PRIMARY KEY (slot, part)) WITHOUT ROWID;
"""
KEYS = {"own": ["id"], "shared": ["id"], "parcel": ["slot", "part"]}
OWN_KEYS, SHARED_KEYS, SLOTS, PARTS = 12, 10, 3, 5

# Host and language of every writer; two hosts have two, which also meet in one file.
WRITERS = [(1, "py"), (1, "sh"), (2, "pl"), (3, "tcl"), (3, "py"), (4, "sh"), (5, "tcl")]
HOSTS = range(1, 6)
# As libfaketime writes them. Stamps begin with 2020, so -9y is below all of them.
CLOCKS = ["+0", "-9y", "-3y", "-26h", "-3h", "-40", "+90", "+5h", "+31h", "+2y", "+20y"]


def text(word):
    return "'" + word.replace("'", "''") + "'"


class Transaction:
    """One transaction: its statements, and what each row is afterwards.

    Rows are found by table and key; each is a pair of literals as quote() gives them, or None.
    """

    def __init__(self, writer, number, dice):
        self.writer, self.number, self.dice = writer, number, dice
        self.statements, self.effect = [], {}
        self.pause = dice.choice([0, 20, 60, 100, 150, 250, 400])
        kind = dice.choices(["own", "shared", "parcel"], [6, 3, 2])[0]
        getattr(self, kind)()

    def value(self):
        """A value that is written once in the whole test, of any type."""
        number = self.writer * 10_000_000 + self.number * 100 + len(self.effect)
        return self.dice.choice([
            str(number), f"{number}.5", f"X'{number:010X}'", text(f"w{number} é' \"")])

    def row(self, table, key):
        note = self.dice.choice(["NULL", text(f"{self.writer}/{self.number}")])
        self.effect[table, key] = (self.value(), note)
        return self.effect[table, key]

    def where(self, table, key):
        return " AND ".join(f"{name} = {part}" for name, part in zip(KEYS[table], key))

    def put(self, table, key):
        value, note = self.row(table, key)
        columns, row = ", ".join([*KEYS[table], "value", "note"]), ", ".join([*key, value, note])
        insert = f"INTO {table} ({columns}) VALUES ({row})"
        update = f"SET value = {value}, note = {note}"
        self.statements += self.dice.choice([
            [f"INSERT {insert} ON CONFLICT DO UPDATE {update}"],
            [f"INSERT OR REPLACE {insert}"],
            [f"UPDATE {table} {update} WHERE {self.where(table, key)}",
             f"INSERT OR IGNORE {insert}"],
            [f"DELETE FROM {table} WHERE {self.where(table, key)}", f"INSERT {insert}"]])

    def remove(self, table, key):
        self.effect[table, key] = None
        self.statements.append(f"DELETE FROM {table} WHERE {self.where(table, key)}")

    def own(self):
        for number in self.dice.sample(range(OWN_KEYS), self.dice.choice([1, 1, 1, 2, 4])):
            key = (text(f"{self.writer}/{number}"),)
            getattr(self, self.dice.choice(["put", "put", "put", "remove"]))("own", key)
        if self.dice.random() < 0.2:
            self.rename(key)

    def rename(self, key):
        """Writes a row and gives it the key of another."""
        other = (text(f"{self.writer}/{self.dice.randrange(OWN_KEYS)}"),)
        if other in {key for _, key in self.effect}:
            return
        self.put("own", key)
        self.remove("own", other)
        self.statements.append(
            f"UPDATE own SET id = {other[0]} WHERE {self.where('own', key)}")
        self.effect["own", other], self.effect["own", key] = self.effect["own", key], None

    def shared(self):
        key = (str(self.dice.randrange(SHARED_KEYS)),)
        getattr(self, self.dice.choice(["put", "put", "put", "remove"]))("shared", key)

    def parcel(self):
        """All parts of one slot at once: some written, the others gone."""
        slot = text(f"{self.writer}/{self.dice.randrange(SLOTS)}")
        size = self.dice.randint(0, PARTS)
        for part in self.dice.sample(range(PARTS), PARTS):
            key = (slot, str(part))
            self.put("parcel", key) if part < size else self.remove("parcel", key)

    def line(self):
        return "\t".join([str(self.number), str(self.pause / 1000), *self.statements]) + "\n"


def transactions(seed, writer, count):
    dice = random.Random(f"{seed}/writer/{writer}")
    return [Transaction(writer, number, dice) for number in range(1, count + 1)]


class Schedule:
    """What happens when: (second, what, arguments), in order.

    Whatever breaks something is followed by what mends it, and nothing is broken twice at a time.
    """

    def __init__(self, seed, seconds):
        self.dice, self.seconds = random.Random(f"{seed}/schedule"), seconds
        self.events, self.busy = [], {}
        kinds = [self.crash, self.pause, self.cut, self.mute, self.split, self.writer, self.avahi]
        now = 1.0
        while now < seconds - 1:
            self.dice.choices(kinds, [5, 2, 4, 4, 2, 4, 1])[0](now)
            now += self.dice.uniform(0.2, 2.0)
        self.events.sort(key=lambda event: event[0])

    @staticmethod
    def clocks(seed):
        """The offset of every host's clock at first."""
        return dict(zip(HOSTS, random.Random(f"{seed}/clocks").sample(CLOCKS, len(HOSTS))))

    def during(self, now, longest, break_it, mend_it, *arguments, of=None):
        """Breaks something and mends it a while later, unless it is broken already."""
        thing = of or (break_it, arguments)
        end = min(now + self.dice.uniform(0.1, longest), self.seconds)
        if self.busy.get(thing, 0) < now:
            self.busy[thing] = end + 0.01
            self.events += [(now, break_it, arguments), (end, mend_it, arguments)]

    def host(self):
        return self.dice.choice(HOSTS)

    def crash(self, now):
        host = self.host()
        self.during(now, 8, "kill", "start", host, of=("node", host))
        self.clock(now, host)

    def pause(self, now):
        host = self.host()
        self.during(now, 4, "freeze", "thaw", host, of=("node", host))

    def cut(self, now):
        self.during(now, 12, "cut", "heal", self.host())

    def mute(self, now):
        one, *others = self.dice.sample(HOSTS, self.dice.choice([2, 2, 3, 5]))
        self.during(now, 12, "mute", "unmute", one, *others, of="neighbours")

    def split(self, now):
        hosts = self.dice.sample(HOSTS, 5)
        size = self.dice.choice([1, 2])
        self.during(now, 12, "split", "join", tuple(hosts[:size]), tuple(hosts[size:]),
                    of="neighbours")

    def writer(self, now):
        writer = self.dice.randrange(len(WRITERS))
        self.during(now, 3, "kill-writer", "start-writer", writer)
        self.clock(now, WRITERS[writer][0])

    def clock(self, now, host):
        """Sets a clock now and then; what starts on that host from now on has it."""
        if self.dice.random() < 0.5:
            self.events.append((now, "clock", (host, self.dice.choice(CLOCKS))))

    def avahi(self, now):
        self.during(now, 5, "restart-avahi", "nothing", self.host())
