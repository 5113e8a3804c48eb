"""A file system of its own, which can be full."""
import contextlib
import os
import signal
import subprocess


@contextlib.contextmanager
def small_disk(path, size):
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", str(path)], check=True)
    yield path
    while subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True).returncode == 0:
        pass  # a test may have mounted more on it


def fill(path):
    """A file at `path`, until not a page is left."""
    with open(path, "wb", buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(bytes(4096))


PATIENCE = 60  # a test that died leaves nothing that hangs for ever


class Frozen:
    """A file system whose writers hang in the kernel: freeze(), thaw(); a process that outlives this one thaws it, too."""

    def __init__(self, path):
        self.path, self.guard = path, None

    def freeze(self):
        self.guard = subprocess.Popen(["sh", "-c", "sleep %d; fsfreeze -u \"$0\"" % PATIENCE, str(self.path)], start_new_session=True)
        subprocess.run(["fsfreeze", "-f", str(self.path)], check=True)

    def thaw(self):
        if self.guard is None:
            return
        subprocess.run(["fsfreeze", "-u", str(self.path)], check=True)
        os.killpg(self.guard.pid, signal.SIGKILL)
        self.guard.wait()
        self.guard = None


@contextlib.contextmanager
def freezable_disk(path, size=8 << 20):
    image = path.with_suffix(".image")
    with open(image, "wb") as f:
        f.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    path.mkdir()
    subprocess.run(["mount", "-o", "loop", str(image), str(path)], check=True)
    disk = Frozen(path)
    try:
        yield disk
    finally:
        disk.thaw()
        subprocess.run(["umount", "-l", str(path)], check=True)
        image.unlink()
