"""The README's tour works as pasted, and shows what it prints."""
import os
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.single

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARK = "== the end of a block =="
ANYTHING = "…"


def blocks():
    """(commands, what they print) in the order of the page."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    return re.findall(r"^```sh\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", text, re.M | re.S)


def pattern(shown):
    """A line that is only an ellipsis stands for any lines, another ellipsis for any text."""
    out = ""
    for line in shown.splitlines(keepends=True):
        if line.strip() == ANYTHING:
            out += r"(?:.*\n)*?"
        else:
            out += ".*".join(re.escape(piece) for piece in line.split(ANYTHING))
    return out


def test_the_tour_works_as_pasted():
    shutil.rmtree("/tmp/weir-tour", ignore_errors=True)
    script = "ip link set lo up\ncd %s\nexec 2>&1\n" % ROOT
    for commands, _ in blocks():
        script += commands + "echo '%s'\n" % MARK
    script = script.replace("script/run", "$WEIR run").replace("build/weir", "$WEIR")
    unshare = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    done = subprocess.run(unshare + ["--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script],
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=300, check=False)
    printed = done.stdout.decode().split(MARK + "\n")
    assert len(printed) == len(blocks()) + 1, done.stdout.decode()
    for (commands, shown), got in zip(blocks(), printed):
        got = got.replace("\r\n", "\n")
        assert re.fullmatch(pattern(shown), got), "%s\nshown:\n%s\nprinted:\n%s" % (commands, shown, got)
