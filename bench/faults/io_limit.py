"""A limit on the bytes that the cgroup of a program may read from a disk: the disk itself has nothing to do."""

import contextlib
import os
import pathlib

import cgroups
from common import Skipped
from programs import python

TITLE = "I/O limit on a program"
FINDINGS = {"disk-limited"}
SIZE = 8 << 20
# Past the page cache, in sequence and at random.
READER = """
import mmap, os, random, sys
path, order = sys.argv[1:]
block = 65536
with open(path, "wb") as file: file.write(os.urandom(SIZE)); file.flush(); os.fsync(file.fileno())
fd, room = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, block)
at = 0
while time.monotonic() < end:
    at = random.randrange(SIZE // block) * block if order == "random" else (at + block) % SIZE
    os.preadv(fd, [room], at)
os.unlink(path)
""".replace("SIZE", str(SIZE))


def group_of():
    return cgroups.group("io", "io", "io.max", first="blkio")


def inside(words):
    return cgroups.inside(group_of(), words)


def path():
    return pathlib.Path.home() / ".cache" / "fenxi-io-limit"


def device():
    """The whole disk below the file, as limits name it."""
    number = os.stat(path().parent).st_dev
    folder = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not folder.exists():
        raise Skipped(f"{path().parent} is on no block device")
    whole = folder.resolve().parent if (folder / "partition").exists() else folder
    return (whole / "dev").read_text().strip()


LOADS = {
    "in sequence": (lambda: inside(python(READER, str(path()), "sequence")),) * 2,
    "at random": (lambda: inside(python(READER, str(path()), "random")),) * 2,
}


@contextlib.contextmanager
def injected():
    group, disk = group_of(), device()
    second = (group / "io.max").exists()
    limit = group / ("io.max" if second else "blkio.throttle.read_bps_device")
    limit.write_text(f"{disk} rbps={2 << 20}" if second else f"{disk} {2 << 20}")
    try:
        yield
    finally:
        limit.write_text(f"{disk} rbps=max" if second else f"{disk} 0")
