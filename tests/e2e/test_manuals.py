"""The examples of the manual pages work as they are printed."""
import os
import subprocess

import pytest

from rig import manual
from rig.weir import binary

pytestmark = pytest.mark.command

KEYS, CONFIGURATION, MINT, NODE, PYTHON, ASK = manual.blocks("weir-session.7", "EXAMPLES")


@pytest.fixture
def place(tmp_path):
    """A directory with the keys and the configuration that weir-session.7 shows; runs what it is given there."""
    (tmp_path / "weir").symlink_to(binary())
    (tmp_path / "agent.yaml").write_text("policy: agent\nallow:\n- host: [api.example.com, docs.example.com]\n")
    (tmp_path / "weir.yaml").write_text("production: false\nlisten: { proxy: [\"127.0.0.1:3128\"] }\n"
                                        "policies: [agent.yaml]\n" + CONFIGURATION)

    def run(*command, stdin=""):
        done = subprocess.run(command, input=stdin, cwd=tmp_path, capture_output=True, text=True, check=False,
                              env=dict(os.environ, PATH="%s:%s" % (tmp_path, os.environ["PATH"])))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    run("sh", "-ec", manual.commands(KEYS))
    return run


def is_good(place, token):
    """The page's own commands say that the token counts, and what it opens."""
    place("sh", "-c", "cat >token", stdin=token)
    said = place("sh", "-ec", manual.commands(ASK))
    return "verdict  ok" in said and "allow" in said and \
        "deny" in place("sh", "-c", 'weir explain -c weir.yaml --token "$(cat token)" https://docs.example.com/; true')


def test_a_token_is_minted_on_the_command_line_as_shown(place):
    place("sh", "-ec", manual.commands(MINT))
    assert is_good(place, place("cat", "token"))


def test_a_token_is_minted_in_node_as_shown(place):
    assert is_good(place, place("node", "--input-type=module", "-", stdin=NODE))


def test_a_token_is_minted_in_python_as_shown(place):
    assert is_good(place, place("python3", "-", stdin=PYTHON))
