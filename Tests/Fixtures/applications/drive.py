#!/usr/bin/env python3
"""Runs a shop on two hosts of a lab: both write all the time, migrate apart, and are cut off.

usage: drive.py django|alembic|php SEED SECONDS     with FLOTILLA_LAB and FLOTILLA_BIN set
       drive.py can django|alembic|php              says what this machine lacks for it

Six migrations (add, rename, drop, alter, index, new table) come to the first host, later to the
second, with cuts in between, in an order that SEED draws. Exits 0 only if nothing committed
is missing, and both machines show the same.
"""
import json
import os
import random
import subprocess
import sys
import time

import judge

HERE = os.path.dirname(os.path.abspath(__file__))
LAN = os.path.join(HERE, "../../../scripts/lan.sh")
STEPS = 7


class Host:
    def __init__(self, number):
        self.number = number
        self.site = f"h{number}"
        self.home = f"{os.environ['FLOTILLA_LAB']}/h{number}/home"
        self.db = f"{self.home}/site.db"
        self.log = f"{self.home}/log"
        # The last migration that was made here; the first one comes with the file.
        self.step = 1

    def words(self, *words):
        return [LAN, "exec", str(self.number), *words]

    def run(self, *words, limit=60):
        return subprocess.run(
            self.words("timeout", "-k", "2", str(limit), *words), stdin=subprocess.DEVNULL,
            capture_output=True, text=True)

    def succeed(self, *words, **options):
        outcome = self.run(*words, **options)
        if outcome.returncode != 0:
            sys.exit(f"{self.site}: {' '.join(words)}: exit {outcome.returncode}\n"
                     f"{outcome.stdout}{outcome.stderr}")
        return outcome.stdout.strip()


class Application:
    """The commands of one of the shops."""

    def __init__(self, name):
        self.words = {
            "django": ["/usr/bin/python3", "-B", f"{HERE}/django/manage.py"],
            "alembic": ["/usr/bin/python3", "-B", f"{HERE}/alembic/program.py"],
            "php": ["/usr/bin/php", f"{HERE}/php/program.php"],
        }[name]
        self.name = name
        # Seconds between two transactions. Rows whose numbers both hosts go on to give, while they
        # catch up, may move too often (docs/limits.md): with plain keys they write more slowly.
        self.pause = os.environ.get(
            "FLOTILLA_APPLICATION_PAUSE", "0.1" if name == "alembic" else "0.02")
        # How often a migration met another writer and was tried again.
        self.locked = 0

    def migrate(self, host, step):
        """One step, tried again where another writer was in its way, as its user would."""
        for _ in range(20):
            if self.name == "django":
                outcome = host.run(*self.words, "migrate", "shop", f"000{step}")
            else:
                outcome = host.run(*self.words, "migrate", str(step))
            if outcome.returncode == 0:
                host.step = step
                return
            if "locked" not in outcome.stderr + outcome.stdout:
                break
            self.locked += 1
        sys.exit(f"{host.site}: migration {step} fails:\n{outcome.stdout}{outcome.stderr}")

    def begin(self, host):
        """The first migration, and customers that both sites edit."""
        self.migrate(host, 1)
        for number in range(1, 6):
            host.succeed("sqlite3", "site.db", f"INSERT INTO customer(token, name, note) "
                         f"VALUES ('shared-{number}', 'Shared', 'new')")


class Run:
    def __init__(self, name, seed, seconds):
        self.hosts = [Host(1), Host(2)]
        self.shop = Application(name) if name else None
        self.dice = random.Random(seed)
        self.seconds = seconds
        self.begin = time.time()

    def say(self, words):
        print(f"{time.time() - self.begin:6.1f} {words}", flush=True)

    def found(self):
        """A site of both hosts, around the file that the first one has."""
        one, two = self.hosts
        one.succeed("flotilla", "init", "site.db", "--site", "Shop", "--name", "one", "--all")
        one.succeed("flotilla", "run", "site.db", "--background")
        code = one.succeed("flotilla", "invite", "site.db")
        two.succeed("flotilla", "join", "site.db", code, "--name", "two")
        two.succeed("flotilla", "run", "site.db", "--background")

    def spawn(self, host, *words):
        return subprocess.Popen(
            host.words(*words), stdin=subprocess.DEVNULL, stdout=open(f"{host.home}/out", "w"),
            stderr=subprocess.STDOUT)

    def lan(self, *words):
        subprocess.run([LAN, *words], check=True)

    def work(self):
        """Both write; the steps of both machines and some cuts come in an order that is drawn."""
        one, two = self.hosts
        writers = [
            self.spawn(host, *self.shop.words, "write", host.site, "log", "stop", self.shop.pause)
            for host in self.hosts]
        cut = False
        events = 2 * (STEPS - 1) + 6
        flips = set(self.dice.sample(range(events), 6))
        for event in range(events):
            time.sleep(self.seconds / events)
            if event in flips:
                cut = not cut
                self.lan("cut" if cut else "heal", "2")
                self.say("cut" if cut else "heal")
                continue
            ahead = one.step < STEPS and (one.step <= two.step or self.dice.random() < 0.6)
            host = one if ahead else two
            self.shop.migrate(host, host.step + 1)
            self.say(f"{host.site} is at {host.step}")
        if cut:
            self.lan("heal", "2")
        for host in self.hosts:
            open(f"{host.home}/stop", "w").close()
        for host, writer in zip(self.hosts, writers):
            if writer.wait(timeout=30) != 0:
                sys.exit(f"the writer of {host.site} failed:\n{open(host.home + '/out').read()}")
            self.say(open(f"{host.home}/out").read().strip())

    def until(self, question, limit):
        """Asks until the answer is empty or the time is over; gives the last answer."""
        end = time.time() + limit
        while (answer := question()) and time.time() < end:
            time.sleep(0.3)
        return answer

    def stuck(self):
        """What the nodes themselves say against it."""
        report = []
        for host in self.hosts:
            for words in (["status", "--all"], ["doctor"], ["verify"]):
                outcome = host.run("flotilla", words[0], "site.db", *words[1:])
                if outcome.returncode != 0:
                    report.append(f"{host.site}: flotilla {' '.join(words)}: exit "
                                  f"{outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
        return report

    def waiting(self):
        """Rows that are parked."""
        report = []
        for host in self.hosts:
            found = host.succeed("flotilla", "conflicts", "site.db", "--parked", "--json")
            report += [f"{host.site}: parked: {row}" for row in json.loads(found)["parked"][:5]]
        return report

    def end(self, report):
        for host in self.hosts:
            host.succeed("flotilla", "stop", "site.db")
        print("\n".join(report[:60]))
        return 1 if report else 0

    def main(self):
        self.shop.begin(self.hosts[0])
        self.found()
        self.say("founded")
        self.work()
        paths = [host.db for host in self.hosts]
        report = self.until(lambda: judge.differences(paths), 60)
        self.say(f"equal: {not report}")
        report += self.until(self.stuck, 30)
        conflicts = []
        for host in self.hosts:
            found = json.loads(host.succeed("flotilla", "conflicts", "site.db", "--all", "--json"))
            conflicts += found["conflicts"]
        report += self.waiting()
        wrong, summary = judge.verdict(paths, [host.log for host in self.hosts], conflicts)
        self.say(f"{summary}; {self.shop.locked} migrations were tried again")
        return self.end(report + wrong)


NEEDS = {
    "django": (["/usr/bin/python3", "-c", "import django"], "python3-django"),
    "alembic": (["/usr/bin/python3", "-c", "import sqlalchemy, alembic"], "python3-alembic"),
    "php": (["/usr/bin/php", "-r", "exit(extension_loaded('pdo_sqlite') ? 0 : 1);"], "php-sqlite3"),
}


def can(name):
    words, package = NEEDS[name]
    try:
        is_there = subprocess.run(words, capture_output=True).returncode == 0
    except FileNotFoundError:
        is_there = False
    if not is_there:
        sys.exit(print(f"{package} is not installed (make setup)") or 1)


if __name__ == "__main__":
    if sys.argv[1] == "can":
        can(sys.argv[2])
    else:
        sys.exit(Run(sys.argv[1], sys.argv[2], float(sys.argv[3])).main())
