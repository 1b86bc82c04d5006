"""Another program drops a file from the page cache over and over while it is read; before, it stays there."""

import contextlib
import os
import pathlib
import subprocess
import sys

from programs import python

TITLE = "another program drops the page cache"
FINDINGS = {"cache-too-small", "programs-wait-disk", "reads-past-cache", "major-faults", "cache-dropped"}
PATH = pathlib.Path.home() / ".cache" / "fenxi-cache-dropped"
READ = """
import os, random, sys
file = os.open(sys.argv[1], os.O_RDONLY); size = os.fstat(file).st_size
at, piece = 0, int(sys.argv[2])
while time.monotonic() < end:
    at = random.randrange(size // 4096) * 4096 if piece == 4096 else (at + piece) % size
    sum(os.pread(file, piece, at)[:4096])
"""
DROP = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
while True: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED); time.sleep(0.05)
"""
LOADS = {name: (lambda size=size: python(READ, str(PATH), str(size)),) * 2 for name, size in (("at random", 4096), ("in sequence", 1 << 20))}


@contextlib.contextmanager
def around():
    with open(PATH, "wb") as file:
        for _ in range(128):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    try:
        yield
    finally:
        PATH.unlink()


@contextlib.contextmanager
def injected():
    dropping = subprocess.Popen([sys.executable, "-c", DROP, PATH])
    try:
        yield
    finally:
        dropping.kill()
        dropping.wait()
