"""Reads that go to the disk each time; before, the page cache has the file."""

from programs import python

TITLE = "reads past the page cache"
FINDINGS = {"reads-past-cache", "programs-wait-disk", "disk-saturated"}
READER = """
import mmap, os, random, sys
path = os.path.join(os.path.expanduser("~"), ".cache", "fenxi-uncached-reads")
with open(path, "wb") as file: file.write(os.urandom(1 << 20) * 64); file.flush(); os.fsync(file.fileno())
way, size = sys.argv[1], 4096
file = os.open(path, os.O_RDONLY | (os.O_DIRECT if way == "direct" else 0))
place = mmap.mmap(-1, size)
while time.monotonic() < end:
    if way == "drop": os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.preadv(file, [place], size * random.randrange(0, (64 << 20) // size))
os.unlink(path)
"""
LOADS = {
    "O_DIRECT": (lambda: python(READER, "cached"), lambda: python(READER, "direct")),
    "dropped": (lambda: python(READER, "cached"), lambda: python(READER, "drop")),
}
