#!/usr/bin/env python3
"""Breaks the product on purpose and asks whether the simulator notices.

usage: mutate.py [--budget DEPTH=COUNT,…] [NAME…]

Each file in Tests/Mutations undoes one rule: its first lines say which, `depth:` and `file:` name
where to look and what to change, and pairs of `<<<<`, `====`, `>>>>` hold the text as it is and as
it shall be. `depth: pure returns` looks where machines come back and deleted rows are let go of,
`pure anchored` where they do beside an anchor, `full schemas` where tables and columns come and go,
`full offices` where anchors do, `full restores` where their files are put back, `full swaps` where
programs write beside parked rows, `full changes` where they follow what changes, `full lies` where
a member lies, `pure strangers` where members do not know each other's keys yet, `schemas plain`
in random schemas, `schemas beside` in those beside an anchor, and `schemas emptied` where a program
drops a table and makes it again. In a copy of the tree each is applied alone, the simulator is
built and runs until it finds a fault or has spent the schedules that `make test` runs. The tree as
it is comes first: where it fails by itself nothing can be found. Only a seed that the simulator
reports counts, neither a crash nor what cannot be built. Prints a table; the status is 0 only if
all were found.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
BUDGET = {
    "pure": 30_000,
    "full": 2_000,
    "pure returns": 8_000,
    "pure anchored": 1_000,
    "full schemas": 1_000,
    "full offices": 400,
    "full restores": 600,
    "full swaps": 300,
    "full changes": 150,
    "full lies": 300,
    "pure strangers": 3_000,
    "schemas plain": 1_800,
    "schemas emptied": 300,
    "schemas beside": 200,
}
KINDS = {
    "full": ["--first", "1293"],
    "returns": ["--with", "collection,slowness", "--steps", "250"],
    "anchored": ["--with", "collection,slowness,office", "--steps", "250"],
    "schemas": [
        "--with", "migration,removal", "--first", "23400", "--steps", "300", "--drawn"],
    "offices": ["--with", "collection,office", "--first", "602771"],
    "restores": ["--with", "office,restore", "--first", "2000"],
    "swaps": ["--with", "unique,swap,crash,diskFull", "--first", "740000"],
    "changes": ["--with", "changes,unique,swap,crash", "--first", "1000"],
    "strangers": ["--with", "strangers,slices,slowness", "--steps", "250"],
    "plain": [],
    "emptied": ["--empties", "--first", "1001"],
    "beside": ["--anchor", "--first", "11601"],
    "lies": ["--with", "liar", "--first", "101000", "--steps", "250", "--drawn"],
}


class NoAnswer(Exception):
    """The simulator was not built, or ended without a word on its schedules."""


class Mutation:
    """One deliberate breakage, as its file tells it."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        head, *parts = re.split(r"^file: (.*)$", text, flags=re.M)
        self.name = path.stem
        self.rule = head.split("\n\n")[0].replace("\n", " ").strip()
        self.depth = re.search(r"^depth: ([\w ]+)$", head, flags=re.M).group(1)
        self.edits = []
        for file, body in zip(parts[::2], parts[1::2]):
            for edit in re.finditer(r"^<<<<\n(.*?)^====\n(.*?)^>>>>$", body, re.S | re.M):
                self.edits.append((file.strip(), edit.group(1), edit.group(2)))
        if not self.edits:
            raise SystemExit(f"{path}: nothing to change")

    def complaints(self, tree):
        """Texts that are not there, or not once: the product has changed since."""
        for file, old, _ in self.edits:
            count = (tree / file).read_text(encoding="utf-8").count(old)
            if count != 1:
                yield f"{self.name}: {file} holds {count} times: {old.splitlines()[0].strip()}"

    def apply(self, tree):
        """Changes the tree; gives what the files held before."""
        before = {}
        for file, old, new in self.edits:
            path = tree / file
            text = path.read_text(encoding="utf-8")
            before.setdefault(path, text)
            path.write_text(text.replace(old, new), encoding="utf-8")
        return before


def build(tree):
    """Builds the simulator, file by file: most are as they were. Gives the program."""
    arguments = [TOP / "scripts/simulator.sh", "-Xswiftc", "-no-whole-module-optimization"]
    result = subprocess.run(arguments, cwd=tree, capture_output=True, text=True)
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        raise NoAnswer("\n".join(errors[:5]) or result.stderr)
    return result.stdout.strip()


def seeds_needed(program, depth, budget):
    """How many schedules it took, or None."""
    kind, *more = depth.split()
    arguments = [program, kind, "--seeds", str(budget), "--stop"]
    for name in more or [kind]:
        arguments += KINDS.get(name, [])
    result = subprocess.run(arguments, capture_output=True, text=True)
    found = r"^(\d+) (?:\w+ schedules|schemas), (\d+) failed"
    counts = re.findall(found, result.stdout, flags=re.M)
    done, failed = (sum(map(int, column)) for column in zip(*counts)) if counts else (0, 0)
    if result.returncode == 0 and failed == 0 and done == budget:
        return None
    if failed == 0 or not re.search(r"^failed: .* --seed \d+", result.stdout, flags=re.M):
        said = (result.stdout + result.stderr)[-2000:]
        raise NoAnswer(f"the simulator ended with {result.returncode}:\n{said}")
    return done


def budgets(argument):
    """The schedules of each depth; some may be given others."""
    budget = dict(BUDGET)
    for part in filter(None, argument.split(",")):
        depth, _, count = part.partition("=")
        if depth not in budget or not count.isdigit():
            raise SystemExit(f"{part}: not one of {', '.join(f'{name}=COUNT' for name in budget)}")
        budget[depth] = int(count)
    return budget


def main():
    names = sys.argv[1:]
    budget = budgets("")
    if names[:1] == ["--budget"]:
        budget = budgets("".join(names[1:2]))
        names = names[2:]
    files = sorted((TOP / "Tests/Mutations").glob("*.txt"))
    mutations = [Mutation(path) for path in files if not names or path.stem in names]
    unknown = set(names) - {mutation.name for mutation in mutations}
    if unknown:
        raise SystemExit(f"no such breakage: {', '.join(sorted(unknown))}")
    stale = [line for mutation in mutations for line in mutation.complaints(TOP)]
    if stale:
        raise SystemExit("\n".join(stale))
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "flotilla"
        tree.mkdir()
        shutil.copytree(TOP / "Examples", tree / "Examples")
        shutil.copytree(TOP / "Sources", tree / "Sources")
        shutil.copytree(TOP / "Tests", tree / "Tests")
        shutil.copy(TOP / "Package.swift", tree)
        program = build(tree)
        for depth in sorted({mutation.depth for mutation in mutations}):
            if seeds_needed(program, depth, budget[depth]) is not None:
                raise SystemExit(f"nothing is broken, and {depth} schedules fail")
        missed = 0
        for mutation in mutations:
            before = mutation.apply(tree)
            try:
                needed = seeds_needed(build(tree), mutation.depth, budget[mutation.depth])
                found = "NOT FOUND" if needed is None else f"{needed} {mutation.depth}"
            except NoAnswer as problem:
                print(problem, file=sys.stderr)
                needed, found = None, "NO ANSWER"
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")
            missed += needed is None
            print(f"{mutation.name:32} {found:>16}  {mutation.rule}", flush=True)
    print(f"{len(mutations) - missed} of {len(mutations)} found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
