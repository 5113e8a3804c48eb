"""A file system of its own, which can be full."""
import contextlib
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
