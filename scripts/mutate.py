#!/usr/bin/env python3
"""Breaks the product on purpose and asks whether the simulator notices.

usage: mutate.py [--budget PURE,FULL] [NAME…]

Each file in Tests/Mutations undoes one rule: its first lines say which, `depth:` and `file:` name
where to look and what to change, and pairs of `<<<<`, `====`, `>>>>` hold the text as it is and as
it shall be. `depth: pure returns` looks where machines come back and deleted rows are let go of,
`full schemas` where tables and columns come and go, `full offices` where anchors do. In a copy of
the tree each is applied alone, the simulator is built and runs until it finds a fault or has spent
the schedules that `make test` runs. Prints a table; the status is 0 only if all were found.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
BUDGET = {
    "pure": 50_000,
    "full": 3_000,
    "pure returns": 8_000,
    "full schemas": 1_000,
    "full offices": 600,
}
KINDS = {
    "returns": ["--with", "collection,slowness", "--steps", "250"],
    "schemas": ["--with", "migration,removal", "--steps", "300", "--drawn"],
    "offices": ["--with", "collection,office", "--first", "600000"],
}


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
        raise SystemExit("\n".join(errors[:5]) or result.stderr)
    return result.stdout.strip()


def seeds_needed(program, depth, budget):
    """How many schedules it took, or None."""
    kind, *more = depth.split()
    arguments = [program, kind, "--seeds", str(budget), "--stop"]
    for name in more:
        arguments += KINDS[name]
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    return sum(map(int, re.findall(r"^(\d+) \w+ schedules, ", result.stdout, flags=re.M)))


def main():
    names = sys.argv[1:]
    budget = dict(BUDGET)
    if names[:1] == ["--budget"]:
        budget = dict(zip(budget, map(int, names[1].split(","))))
        names = names[2:]
    files = sorted((TOP / "Tests/Mutations").glob("*.txt"))
    mutations = [Mutation(path) for path in files if not names or path.stem in names]
    stale = [line for mutation in mutations for line in mutation.complaints(TOP)]
    if stale:
        raise SystemExit("\n".join(stale))
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "flotilla"
        tree.mkdir()
        shutil.copytree(TOP / "Sources", tree / "Sources")
        shutil.copytree(TOP / "Tests", tree / "Tests")
        shutil.copy(TOP / "Package.swift", tree)
        missed = 0
        for mutation in mutations:
            before = mutation.apply(tree)
            needed = seeds_needed(build(tree), mutation.depth, budget[mutation.depth])
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")
            missed += needed is None
            found = "NOT FOUND" if needed is None else f"{needed} {mutation.depth}"
            print(f"{mutation.name:32} {found:>16}  {mutation.rule}", flush=True)
    print(f"{len(mutations) - missed} of {len(mutations)} found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
