"""A running weir: its configuration, its log, its records."""
import collections
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

WAIT = 30
START_WAIT = 60  # a sanitized build on a busy machine takes its time
SANITIZED = "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ
UNHANDLED = (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL)
TICK = 0.002  # between two looks at a condition nobody signals

FREE_OF_LIMITS = {"client_rate": 0, "client_connections": 0, "refusals": 0}


def wait_for(condition, timeout=WAIT, what="condition"):
    """The first true value of condition(); an AssertionError names what never came."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("%s did not come within %g s" % (what, timeout))
        time.sleep(TICK)


def binary():
    """WEIR, or the one in the build directory that is stood in."""
    path = os.path.abspath(os.environ.get("WEIR") or "weir")
    if not os.access(path, os.X_OK):
        raise SystemExit("%s is no program: set WEIR to the path of the weir binary" % path)
    return path


def settings_known():
    """The keys this build reads, of `weir check --defaults`: what a test may ask of it."""
    text = subprocess.run([binary(), "check", "--defaults"], capture_output=True, text=True).stdout
    return text


class NotStarted(AssertionError):
    pass


class Manager:
    """A service manager that listens for READY=1 (sd_notify)."""

    def __enter__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.sock.bind("")  # an abstract name of the kernel's choice
        self.name = "@" + self.sock.getsockname()[1:].decode()
        return self

    def __exit__(self, kind, value, trace):
        self.sock.close()

    def was_told_ready(self):
        try:
            return b"READY=1" in self.sock.recv(4096)
        except BlockingIOError:
            return False


# What a service manager does: the sockets from descriptor 3 on, and whom they are for.
HAND_OVER = """
import fcntl, os, sys
given = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",")]
for at, fd in enumerate(given):
    os.dup2(fd, 3 + at)
    os.close(fd)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(given)))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Weir:
    """weir run -c on a configuration made here; use as a context manager or call stop().

    `sockets` are handed over to it.
    """

    def __init__(self, policies, config=None, listen=None, directory=None, arguments=(),
                 environment=None, preexec=None, start=True, stderr=None, sockets=()):
        self.is_own = directory is None  # then it goes with the weir
        self.directory = directory or tempfile.mkdtemp(prefix="weir-test-")
        self.config = {"production": False, "state_dir": self.path("state"),
                       "audit": {"path": self.path("audit.jsonl")}, "limits": dict(FREE_OF_LIMITS)}
        for key, value in (config or {}).items():
            if isinstance(value, dict) and isinstance(self.config.get(key), dict):
                self.config[key] = dict(self.config[key], **value)
            else:
                self.config[key] = value
        if "listen" not in self.config:
            self.config["listen"] = {"proxy": [listen or "127.0.0.1:%d" % free_port()]}
        doors = self.config["listen"]
        self.address = next(doors[door] for door in ("proxy", "gateway", "socks5", "dns", "transparent") if doors.get(door))[0].removeprefix("tls:")
        self.log_path = self.path("log")
        self.arguments, self.environment, self.preexec = list(arguments), environment, preexec
        self.sockets = list(sockets)
        self.process, self._seen, self._records = None, 0, []
        os.makedirs(self.path("state"), exist_ok=True)
        self.write_policies(policies)
        self.write_config()
        if start:
            self.start()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write_policies(self, policies):
        """Each a dict, or text; outermost first."""
        paths = []
        for i, policy in enumerate(policies):
            paths.append(self.path("policy%d.yaml" % i))
            with open(paths[-1], "w", encoding="utf-8") as f:
                f.write(policy if isinstance(policy, str) else json.dumps(policy, indent=1))
        self.config["policies"] = paths

    def write_config(self):
        with open(self.path("weir.yaml"), "w", encoding="utf-8") as f:
            json.dump(self.config, f, indent=1)

    # -- life

    def start(self, wait=True):
        self._log = open(self.log_path, "ab")
        with Manager() as manager:
            environment = dict(os.environ, NOTIFY_SOCKET=manager.name)
            environment.update(self.environment or {})
            fds = [sock.fileno() for sock in self.sockets]
            hand_over = [sys.executable, "-c", HAND_OVER, ",".join(map(str, fds))] if fds else []
            self.process = subprocess.Popen(
                [*hand_over, binary(), "run", "-c", self.path("weir.yaml"), *self.arguments],
                pass_fds=fds, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if self.config["audit"].get("path") == "-"
                else self._log, stderr=self._log, env=environment, preexec_fn=self.preexec)
            is_ours = environment["NOTIFY_SOCKET"] == manager.name
            if wait:
                wait_for(lambda: self.is_ready(manager if is_ours else None), START_WAIT, "weir's start")
        return self

    def is_ready(self, manager=None):
        """It says so, or, where that is said to somebody else, takes a connection."""
        if self.process.poll() is not None:
            raise NotStarted("weir ended with %d: %s" % (self.process.returncode, self.log()))
        if manager is not None:
            return manager.was_told_ready()
        try:
            self.connect(1).close()
            return True
        except OSError:
            return False

    def connect(self, timeout=WAIT):
        if self.address.startswith("unix:"):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(timeout)
            sock.connect(self.address[5:])
            return sock
        host, _, port = self.address.rpartition(":")
        sock = socket.create_connection((host.strip("[]"), int(port)), timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def signal(self, number):
        if "TSAN_OPTIONS" in os.environ and number not in UNHANDLED:
            # what comes while the main thread runs, that sanitizer may lose; what ends a wait it does not
            wait_for(self._waits, what="a main thread that waits")
        self.process.send_signal(number)

    def _waits(self):
        """For events; where the kernel does not tell for what, for anything."""
        if self.process.poll() is not None:
            return True
        with open("/proc/%d/stat" % self.process.pid) as stat, open("/proc/%d/wchan" % self.process.pid) as wchan:
            state, where = stat.read().rpartition(")")[2].split()[0], wchan.read()
        return state == "S" and ("poll" in where or where in ("", "0"))

    def reload(self, policies=None):
        if policies is not None:
            self.write_policies(policies)
        self.write_config()
        self.signal(signal.SIGHUP)

    def stop(self, timeout=WAIT):
        """SIGTERM twice: an end without waiting for what is open.  The exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("weir did not stop; its log: %s" % self.log()) from None
        finally:
            self._log.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        if self.is_own:
            shutil.rmtree(self.directory)

    # -- what it says

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="backslashreplace") as f:
            return f.read()

    def audit(self, condition=None, timeout=WAIT, what="the audit records"):
        """All records so far; with a condition (of that list), waits until it holds."""
        if condition is not None:
            wait_for(lambda: condition(self._read()), timeout, what)
        return list(self._read())

    def _read(self):
        try:
            with open(self.config["audit"]["path"], "rb") as f:
                f.seek(self._seen)
                data = f.read()
        except FileNotFoundError:
            return self._records
        whole = data[:data.rfind(b"\n") + 1]
        self._seen += len(whole)
        self._records += [json.loads(line) for line in whole.splitlines()]
        return self._records

    def finals(self, n=None, timeout=WAIT):
        """The final records of exchanges (no system records); waits until there are `n`."""
        def pick(records):
            return [r for r in records if r.get("phase", "final") == "final" and r["kind"] != "system"]
        if n is not None:
            wait_for(lambda: len(pick(self._read())) >= n, timeout, "%d final records" % n)
        return pick(self._read())

    def health(self, path, method="GET"):
        """(status, body) of the health listener."""
        host, _, port = self.config["listen"]["health"][0].rpartition(":")
        with socket.create_connection((host, int(port)), WAIT) as sock:
            sock.sendall(("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % (method, path)).encode())
            data = b"".join(iter(lambda: sock.recv(65536), b""))
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode()

    def metric(self, name, label=None):
        """A counter's or gauge's value, over all its labels or of one."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.health("/metrics")[1].splitlines()
                   if re.split("[{ ]", line)[0] == name and (label is None or '="%s"}' % label in line))

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def grew(self, before, most):
        """Has it more than `most` KiB over `before`?  A sanitizer's allocator keeps what is freed."""
        return self.rss_kib() - before > most and not SANITIZED

    def rss_kib(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def proxy_and_health():
    """A `listen` with a port for each."""
    return {"proxy": ["127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]}


given = collections.deque(maxlen=1000)  # ports: the kernel may choose one twice before weir has it


def free_port(address="127.0.0.1"):
    """Nobody's port now; in a namespace of our own nobody takes it before weir does."""
    while True:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
            sock.bind((address, 0))
            port = sock.getsockname()[1]
        if port not in given:
            given.append(port)
            return port
