#!/usr/bin/env python3
"""tally.py - prints "PASSED FAILED" of a run of tests

tally.py DIR    the last `make check` in the build directory DIR: each cmocka test
                counts, and a program or script that has no such tests counts once
tally.py        the last line of standard input: "12 passed, 1 failed, 2 skipped in 3 s"

What was skipped did not pass, and so it failed.  So did a run that says nothing.
"""
import pathlib
import re
import sys


def said(line):
    counts = dict((word, int(n)) for n, word in re.findall(r"(\d+) ([a-z]+)", line))
    passed = counts.get("passed", 0)
    failed = sum(n for word, n in counts.items()
                 if word in ("failed", "error", "errors", "skipped", "xfailed", "xpassed"))
    return (passed, failed) if passed or failed else (0, 1)


def made(build):
    passed = failed = 0
    for result in pathlib.Path(build).rglob("*.trs"):
        outcome = re.search(r"^:test-result: (\w+)", result.read_text(), re.M)
        log = result.with_suffix(".log").read_text(errors="replace")
        good, bad, skipped = (
            sum(int(n) for n in re.findall(rf"^\[  {word}\] .*?(\d+) test", log, re.M))
            for word in ("PASSED  ", "FAILED  ", "SKIPPED "))
        if outcome and outcome[1] == "PASS":
            passed += good or 1
            failed += bad + skipped
        else:
            passed += good
            failed += bad + skipped or 1
    return (passed, failed) if passed or failed else (0, 1)


if len(sys.argv) > 1:
    print(*made(sys.argv[1]))
else:
    print(*said((sys.stdin.read().splitlines() or [""])[-1]))
