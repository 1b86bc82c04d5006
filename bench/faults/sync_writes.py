"""Small writes, each flushed by itself; before, all at the end."""

from programs import python

TITLE = "small writes, each made durable"
FINDINGS = {"writes-wait-flush", "flush-waits", "flushes-of-small-writes"}
WRITER = """
import os, sys
path = os.path.join(os.path.expanduser("~"), ".cache", "fenxi-sync-writes")
file = os.open(path, os.O_CREAT | os.O_WRONLY | (os.O_DSYNC if sys.argv[1] == "dsync" else 0))
n = 0
while time.monotonic() < end:
    os.write(file, b"x" * 4096)
    n += 1
    if sys.argv[1] == "fsync": os.fsync(file)
    if n % 1000 == 0: os.lseek(file, 0, 0)
os.unlink(path)
"""
LOADS = {
    "fsync": (lambda: python(WRITER, "none"), lambda: python(WRITER, "fsync")),
    "O_DSYNC": (lambda: python(WRITER, "none"), lambda: python(WRITER, "dsync")),
}
