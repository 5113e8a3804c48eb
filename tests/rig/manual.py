"""What the manual pages show: their literal blocks, as a reader sees them."""
import pathlib
import re

DOC = pathlib.Path(__file__).resolve().parents[2] / "doc"


def blocks(page, section):
    """The literal blocks of one section, in order."""
    text = (DOC / page).read_text(encoding="utf-8")
    part = re.search(r"^\.Sh %s\n(.*?)(?=^\.Sh |\Z)" % section, text, re.M | re.S).group(1)
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", part, re.M | re.S)
    return [block.replace(r"\e", "\\").replace(r"\(dq", '"') for block in found]


def commands(block):
    """A block of lines after `$ `, as a script."""
    assert block.startswith("$ "), block
    return re.sub(r"^\$ ", "", block, flags=re.M)
