"""A clock that the test moves: weir, preloaded with clock.c, is as far ahead as it says."""
import mmap
import os
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("clock.c")


class Clock:
    def __init__(self, directory):
        self.library, path = str(directory / "clock.so"), directory / "clock"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-O1", "-o", self.library, str(SOURCE)],
                       check=True)
        path.write_bytes(bytes(16))
        with open(path, "r+b") as f:
            self._map = mmap.mmap(f.fileno(), 16)
        self.now = self.wall = 0
        # a sanitizer that insists on being the first library would not start
        self.environment = {"LD_PRELOAD": self.library, "WEIR_TEST_CLOCK": str(path),
                            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def advance(self, seconds):
        """What weir has to do by then, it does when something wakes it."""
        self.now += seconds
        self._write()

    def set_wall(self, seconds):
        """As an administrator sets the time of day: so much from the true one, and no other clock moves."""
        self.wall = seconds
        self._write()

    def _write(self):
        self._map[:] = struct.pack("=qq", int(self.now * 10 ** 9), int(self.wall * 10 ** 9))

    def advance_to(self, seconds):
        self.advance(max(0, seconds - self.now))
