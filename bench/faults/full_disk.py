"""A file system that is too small for what a program writes; it removes its files when it fails."""

import contextlib
import pathlib
import subprocess

from common import Skipped
from programs import python

TITLE = "full file system"
FINDINGS = {"fs-nearly-full"}
PLACE = pathlib.Path("/tmp/fenxi-bench-full")
BYTES = """
import os, sys
place, size = sys.argv[1], int(sys.argv[2])
text = os.urandom(1 << 20)
while time.monotonic() < end:
    names = []
    try:
        for i in range(size):
            name = os.path.join(place, str(i))
            with open(name, "wb") as file: names.append(name); file.write(text)
    except OSError: time.sleep(1.5)
    time.sleep(0.2)
    for name in names: os.unlink(name)
"""
INODES = BYTES.replace('file.write(text)', 'pass')


def mounted(words):
    """The same once there is a file system of 40 MiB and a thousand files."""
    return ["bash", "-c", f'mkdir -p {PLACE}; mountpoint -q {PLACE} || mount -t tmpfs -o size=40m,nr_inodes=1000 tmpfs {PLACE}; exec "$@"', "bash", *words]


LOADS = {
    "bytes": (lambda: mounted(python(BYTES, str(PLACE), "20")), lambda: mounted(python(BYTES, str(PLACE), "60"))),
    "files": (lambda: mounted(python(INODES, str(PLACE), "500")), lambda: mounted(python(INODES, str(PLACE), "1200"))),
}


@contextlib.contextmanager
def injected():
    if subprocess.run(["id", "-u"], capture_output=True, text=True, check=True).stdout.strip() != "0":
        raise Skipped("only root mounts a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", PLACE], check=False)
