"""A client's process: from its start to its end, or to the end of our patience."""
import os
import pathlib
import shutil
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 300  # s: one that is not done by then is not going to be


def path(modules):
    """Where clients and what they need are found; no client may be there by chance."""
    return ":".join([str(modules / "node_modules" / ".bin"), os.path.dirname(shutil.which("node") or "/usr/bin/node"),
                     "/usr/bin", "/bin"])


def newer_node(modules):
    """The one that knows NODE_USE_ENV_PROXY."""
    return next((str(path) for path in modules.glob("node_modules/node-linux-*/bin/node")), "node")


def surroundings(home, modules, said):
    """The environment of a client, which sees nothing of ours."""
    return dict({"PATH": path(modules), "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
                 "MODULES": str(modules)}, **said)


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def live(command, environment, work, patience=PATIENCE):
    """(output, status): the status is None where it had to be ended."""
    with subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, start_new_session=True) as process:
        try:
            said = process.communicate(timeout=patience)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            _end(process)
            said, status = process.communicate()[0], None
        finally:
            _end(process)  # and whatever it left
    return said.decode(errors="replace"), status
