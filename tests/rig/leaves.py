"""Certificates that are not signed before the tests say so: weir is preloaded with held_leaf.c."""
import os
import pathlib
import subprocess


class Leaves:
    def __init__(self, directory):
        library, self.path = directory / "leaf.so", directory / "held"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-O1", "-o", str(library),
                        str(pathlib.Path(__file__).with_name("held_leaf.c"))], check=True)
        # a sanitizer that insists on being the first library would not start
        self.environment = {"LD_PRELOAD": str(library), "WEIR_TEST_LEAF": str(self.path),
                            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def hold(self):
        self.path.touch()

    def release(self):
        self.path.unlink(missing_ok=True)
