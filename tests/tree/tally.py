#!/usr/bin/env python3
"""tally.py BUILD-DIRECTORY - "PASSED FAILED" of the last `make check` there.

Each cmocka test counts; a program or script without such tests counts once.
"""
import pathlib
import re
import sys

passed = failed = 0
for result in pathlib.Path(sys.argv[1]).rglob("*.trs"):
    outcome = re.search(r"^:test-result: (\w+)", result.read_text(), re.M)
    log = result.with_suffix(".log").read_text(errors="replace")
    good = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test", log, re.M))
    bad = sum(int(n) for n in re.findall(r"^\[  FAILED  \] .*?(\d+) test", log, re.M))
    skipped = sum(int(n) for n in re.findall(r"^\[  SKIPPED \] .*?(\d+) test", log, re.M))
    if outcome and outcome[1] == "PASS":
        passed += good or 1
        failed += bad + skipped
    else:
        passed += good
        failed += bad + skipped or 1
print(passed, failed)
