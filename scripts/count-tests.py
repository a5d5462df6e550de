#!/usr/bin/env python3
"""Counts the results in event streams of Swift Testing.

usage: count-tests.py STATUS PARTS

STATUS is the exit status of the build. PARTS is a folder with one folder per process of tests. Its
`events` is what `--event-stream-output-path` wrote: one JSON object per line, written as things
happen, so it also tells which tests were running when the process died. Its `status` is the exit
status of the process. Prints the failed tests, each with the first lines of what it said, and one
closing line; exits 0 only if nothing failed.
"""
import json
import pathlib
import sys


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


def report(part):
    """Prints what went wrong in a process; gives how many passed, failed and were skipped."""
    tests, passed, failed, died, skipped, elsewhere = count(part / "events")
    bad = (set(failed) & set(tests)) | died
    for name in sorted(bad):
        note = " (did not end)" if name in died else ""
        print(f"failed: {tests[name]}{note} [{name}]")
        for line in failed.get(name, [])[:12]:
            print(f"  {line[:400]}")
    silent = len(tests) - len(passed | bad | skipped)
    if silent:
        print(f"not run: {silent}")
    failures = len(bad) + elsewhere
    if failures == 0 and (status(part) != 0 or not passed | skipped or silent):
        failures = 1
        print(f"a run itself failed (status {status(part)})")
    return len(passed), failures, len(skipped)


def main():
    if int(sys.argv[1]) != 0:
        print("the build failed")
        print("0 passed, 1 failed")
        sys.exit(1)
    parts = sorted(pathlib.Path(sys.argv[2]).iterdir())
    counts = [report(part) for part in parts] + [(0, 0, 0)]
    passed, failures, skipped = (sum(column) for column in zip(*counts))
    failures = failures or int(passed == 0)
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failures} failed{tail}")
    sys.exit(1 if failures else 0)


main()
