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


def device(folder=None):
    """The whole disk below a folder, as limits name it; below that of the file without one."""
    folder = folder or path().parent
    number = os.stat(folder).st_dev
    block = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not block.exists():
        raise Skipped(f"{folder} is on no block device")
    whole = block.resolve().parent if (block / "partition").exists() else block
    return (whole / "dev").read_text().strip()


LOADS = {
    "in sequence": (lambda: inside(python(READER, str(path()), "sequence")),) * 2,
    "at random": (lambda: inside(python(READER, str(path()), "random")),) * 2,
}


@contextlib.contextmanager
def limited(group, disk, key, most):
    """A group may have so much of a disk: `key` is as io.max has it, such as rbps."""
    second = (group / "io.max").exists()
    first = {"rbps": "read_bps", "wiops": "write_iops"}[key]
    limit = group / ("io.max" if second else f"blkio.throttle.{first}_device")
    limit.write_text(f"{disk} {key}={most}" if second else f"{disk} {most}")
    try:
        yield
    finally:
        limit.write_text(f"{disk} {key}=max" if second else f"{disk} 0")


@contextlib.contextmanager
def injected():
    with limited(group_of(), device(), "rbps", 2 << 20):
        yield
