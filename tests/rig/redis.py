"""A Redis of the test's own, which can die, come back, and be given an older state."""
import itertools
import os
import shutil
import signal
import socket
import subprocess

from .weir import START_WAIT, WAIT, wait_for


class Redis:
    """What it has acknowledged outlives kill -9: it is in its log, in the kernel's hands."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.path = os.path.join(self.directory, "redis.sock")
        self.url = "redis+unix:" + self.path
        self.process = None
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", self.directory, "--save", "",
             "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-min-size", "64mb"],
            stdout=subprocess.DEVNULL)
        wait_for(self._answers, START_WAIT, "redis")

    def _answers(self):
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(1)
                sock.connect(self.path)
                sock.sendall(b"PING\r\n")
                return sock.recv(64) == b"+PONG\r\n"
        except OSError:
            return False

    def heard(self, act, word):
        """How many of its clients' commands have `word` in them, while act() runs."""
        end = b"the end of it"
        with socket.socket(socket.AF_UNIX) as ear, socket.socket(socket.AF_UNIX) as mouth:
            for sock in (ear, mouth):
                sock.settimeout(WAIT)
                sock.connect(self.path)
            ear.sendall(b"MONITOR\r\n")
            lines = ear.makefile("rb")
            assert lines.readline() == b"+OK\r\n"
            act()
            mouth.sendall(b'ECHO "%s"\r\n' % end)
            return sum(word.encode() in line for line in itertools.takewhile(lambda line: end not in line, lines))

    def stop_at_once(self):
        """kill -9."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    @property
    def _log(self):
        return os.path.join(self.directory, "appendonlydir")

    def keep(self, name):
        """What it holds now, for restore(); it is not running."""
        return shutil.copytree(self._log, self._log + "." + name)

    def restore(self, kept):
        """Back to what was kept; it is not running."""
        shutil.rmtree(self._log)
        shutil.copytree(kept, self._log)
