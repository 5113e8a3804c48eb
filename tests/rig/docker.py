"""A container engine of the tests' own: it lives in this thread's network namespace, and ends with the tests.

Its base image is made of the packages of this machine, so that nothing is fetched.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from .weir import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
BESIDES = ["/bin", "/sbin", "/lib", "/lib64", "/tmp", "/var/tmp", "/etc/group", "/etc/ld.so.cache", "/etc/passwd",
           "/etc/ssl/certs/ca-certificates.crt", "/var/lib/dpkg/status"]
NOT = re.compile("/usr/share/(doc|man|locale|info|lintian)/|/boot/")


def _lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _packages():
    """Those of `script/install image`, what they need, and what every system has."""
    text = (ROOT / "script/install").read_text()
    lists = {name: words for name, words in re.findall(r'^(\w+)="([^"]*)"', text, re.M)}
    named = lists["image"].replace("$build", lists["build"]).split() + [
        line.split()[0] for line in _lines("dpkg-query", "-W", "-f", "${Package} ${Essential}\\n") if line.endswith(" yes")]
    found = _lines("apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests", "--no-conflicts",
                   "--no-breaks", "--no-replaces", "--no-enhances", *named)
    here = set(_lines("dpkg-query", "-W", "-f", "${binary:Package}\\n"))
    here |= {name.split(":")[0] for name in here}
    return sorted({line.strip() for line in found if line[0].isalnum()} & here)


def _files():
    seen = {line for line in _lines("dpkg-query", "-L", *_packages()) if line.startswith("/") and line != "/." and not NOT.search(line)}
    for directory in ("/usr/bin", "/usr/sbin"):
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.path.islink(path) and os.readlink(path).startswith("/etc/alternatives/"):
                seen |= {path, os.readlink(path)}
    seen.add(os.path.realpath("/usr/bin/awk"))  # of which every system has one or the other
    # /bin is a link: what packages say is in it is elsewhere
    places = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in seen | set(BESIDES)}
    return sorted(path for path in places if os.path.lexists(path))


class Engine:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="weir-docker-")
        self.host = "unix://%s/sock" % self.directory
        self.environment = dict(os.environ, DOCKER_HOST=self.host, DOCKER_BUILDKIT="0", COMPOSE_DOCKER_CLI_BUILD="0",
                                DOCKER_CONFIG=self.directory)
        self.log = open(os.path.join(self.directory, "log"), "wb")  # noqa: SIM115
        self.process = subprocess.Popen(
            ["dockerd", "--data-root", self.directory + "/data", "--exec-root", self.directory + "/exec",
             "-p", self.directory + "/pid", "-H", self.host], stdout=self.log, stderr=self.log)
        wait_for(self._is_ready, 60, "the engine")

    def _is_ready(self):
        assert self.process.poll() is None, pathlib.Path(self.log.name).read_text()[-3000:]
        return self.docker("version", check=False).returncode == 0

    def _run(self, *command, **how):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=how.pop("timeout", 900),
                              env=dict(self.environment, **how.pop("environment", {})), input=how.pop("stdin", None), **how)
        return done

    def docker(self, *words, check=True, **how):
        done = self._run("docker", *words, **how)
        assert not check or done.returncode == 0, "%s\n%s%s" % (words, done.stdout[-3000:], done.stderr[-3000:])
        return done

    def compose(self, file, *words, check=True, **how):
        done = self._run("docker-compose", "-p", "weir", "-f", str(file), *words, cwd=os.path.dirname(file), **how)
        assert not check or done.returncode == 0, "%s\n%s%s" % (words, done.stdout[-3000:], done.stderr[-3000:])
        return done

    def make_base(self, name):
        with tempfile.NamedTemporaryFile("w") as names:
            names.write("".join(path[1:] + "\n" for path in _files()))
            names.flush()
            with subprocess.Popen(["tar", "-c", "-C", "/", "--no-recursion", "-T", names.name],
                                  stdout=subprocess.PIPE) as tar:
                subprocess.run(["docker", "import", "-", name], stdin=tar.stdout, env=self.environment, check=True,
                               stdout=subprocess.DEVNULL)
            assert tar.returncode == 0

    def close(self):
        for one in self.docker("ps", "-aq", check=False).stdout.split():
            self.docker("rm", "-f", one, check=False)
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
