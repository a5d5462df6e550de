#!/usr/bin/env python3
"""Counts the results in an event stream of Swift Testing.

usage: count-tests.py EVENTS STATUS

EVENTS is what `swift test --event-stream-output-path` wrote: one JSON object per line, written as
things happen, so it also tells which tests were running when the process died. STATUS is the exit
status of the run. Prints the failed tests, each with the first lines of what it said, and one
closing line; exits 0 only if nothing failed.
"""
import json
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
    tests, started, ended, skipped, failed, elsewhere = {}, set(), set(), set(), {}, 0
    for kind, payload in read(path):
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


def main():
    tests, passed, failed, died, skipped, elsewhere = count(sys.argv[1])
    status = int(sys.argv[2])
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
    if failures == 0 and (status != 0 or not passed or silent):
        failures = 1
        print(f"the run itself failed (status {status})")
    tail = f", {len(skipped)} skipped" if skipped else ""
    print(f"{len(passed)} passed, {failures} failed{tail}")
    sys.exit(1 if failures else 0)


main()
