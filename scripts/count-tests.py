#!/usr/bin/env python3
"""Counts the results in event streams of Swift Testing.

usage: count-tests.py STATUS PARTS
       count-tests.py --failed PARTS

STATUS is the exit status of the build. PARTS is a folder with one folder per process of tests. Its
`events` is what `--event-stream-output-path` wrote: one JSON object per line, written as things
happen, so it also tells which tests were running when the process died. Its `status` is the exit
status of the process. Prints the failed tests, each with the first lines of what it said, and one
closing line; exits 0 only if nothing failed.

Folders whose names begin with `again` hold second tries. A test that failed and passed there is
told as unsteady and counts as passed; with FLOTILLA_STRICT=1 it counts as failed. `--failed` prints
what to try again, a pattern for `--filter` on each line: nothing if more than three tests failed,
if a process died, or if a test failed that draws other numbers each time.
"""
import json
import os
import pathlib
import re
import sys

MOST_TRIED_AGAIN = 3
# These draw other numbers each time: what fails once says something, whatever comes the next time.
DRAWN = (
    "SimulatorTests.", "FuzzTests.", "ChaosTests", "ApplicationTests", "HostilePagesTests",
    "KilledTests", "JSONTests", "CrashTests.")


def read(path):
    """Yields the payloads of whole lines; a crash can leave half a line at the end."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                record = json.loads(line)
                yield record["kind"], record["payload"]
            except (ValueError, KeyError, TypeError):
                continue


def said(payload):
    """The words of an issue, a line each."""
    texts = (message.get("text", "") for message in payload.get("messages", []))
    return [line for text in texts for line in text.splitlines() if line.strip()]


def count(path):
    """The titles of the tests of a stream, and the names of those that did one thing or another."""
    tests, started, ended, skipped, failed, elsewhere = {}, set(), set(), set(), {}, 0
    for kind, payload in read(path) if path.exists() else []:
        name = payload.get("testID")
        if kind == "test":
            if payload.get("kind") == "function":
                tests[payload["id"]] = payload.get("displayName") or payload.get("name", "")
            continue
        what = payload.get("kind")
        if what == "testStarted":
            started.add(name)
        elif what == "testEnded":
            ended.add(name)
        elif what == "testSkipped":
            skipped.add(name)
        elif what == "issueRecorded":
            issue = payload.get("issue", {})
            if issue.get("isKnown") or issue.get("severity") == "warning":
                continue
            failed.setdefault(name, []).extend(said(payload))
            elsewhere += name not in tests
    names = set(tests)
    died = (started - ended) & names
    passed = (ended & names) - set(failed) - skipped
    return tests, passed, failed, died, skipped & names, elsewhere


def status(part):
    """How a process of tests ended; one that left no word did not end well."""
    try:
        return int((part / "status").read_text())
    except (OSError, ValueError):
        return -1


def tell(word, title, name, lines):
    """Prints a test that is to be looked at, with the first lines of what it said."""
    print(f"{word}: {title} [{name}]")
    for line in lines[:12]:
        print(f"  {line[:400]}")


def report(part, passed_again):
    """Prints what went wrong in a process; counts what passed, failed, was skipped, unsteady."""
    tests, passed, failed, died, skipped, elsewhere = count(part / "events")
    bad = (set(failed) & set(tests)) | died
    unsteady = (bad - died) & passed_again
    for name in sorted(unsteady):
        tell("unsteady (passed when tried again)", tests[name], name, failed[name])
    for name in sorted(bad - unsteady):
        note = " (did not end)" if name in died else ""
        tell("failed", tests[name] + note, name, failed.get(name, []))
    silent = len(tests) - len(passed | bad | skipped)
    if silent:
        print(f"not run: {silent}")
    failures = len(bad - unsteady) + elsewhere
    is_well = status(part) == 0 or (unsteady and status(part) == 1)
    if failures == 0 and (not is_well or not passed | skipped | unsteady or silent):
        failures = 1
        print(f"a run itself failed (status {status(part)})")
    return len(passed | unsteady), failures, len(skipped), len(unsteady)


def folders(path):
    """The folders of the first tries, and those of the second ones."""
    every = sorted(pathlib.Path(path).iterdir())
    again = [part for part in every if part.name.startswith("again")]
    return [part for part in every if part not in again], again


def patterns(first):
    """What is worth a second try: few tests that failed, of processes that did not die."""
    found = []
    for part in first:
        tests, _, failed, died, _, elsewhere = count(part / "events")
        if died or elsewhere or status(part) not in (0, 1):
            return []
        found += [name for name in failed if name in tests]
    if any(drawn in name for name in found for drawn in DRAWN):
        return []
    return [re.escape(name) for name in found] if len(found) <= MOST_TRIED_AGAIN else []


def main():
    first, again = folders(sys.argv[2])
    if sys.argv[1] == "--failed":
        print("".join(pattern + "\n" for pattern in patterns(first)), end="")
        return
    if int(sys.argv[1]) != 0:
        print("the build failed")
        print("0 passed, 1 failed")
        sys.exit(1)
    passed_again = set()
    if os.environ.get("FLOTILLA_STRICT") != "1":
        for part in again:
            if status(part) == 0:
                passed_again |= count(part / "events")[1]
    counts = [report(part, passed_again) for part in first] + [(0, 0, 0, 0)]
    passed, failures, skipped, unsteady = (sum(column) for column in zip(*counts))
    failures = failures or int(passed == 0)
    tail = f", {skipped} skipped" if skipped else ""
    tail += f", {unsteady} unsteady" if unsteady else ""
    print(f"{passed} passed, {failures} failed{tail}")
    sys.exit(1 if failures else 0)


main()
