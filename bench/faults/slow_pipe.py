"""A program that writes into a pipe whose reader is slow: a log that is shipped, a terminal; before, the reader keeps up."""

from programs import python

TITLE = "the reader of a pipe is slow"
FINDINGS = {"sends-wait", "program-sleeps"}
WRITER = """
import os, sys
pause, size = float(sys.argv[1]), int(sys.argv[2])
read, write = os.pipe()
if os.fork() == 0:
    os.close(write)
    while os.read(read, 65536):
        if pause: time.sleep(pause)
    os._exit(0)
os.close(read)
line = b"x" * size
while time.monotonic() < end:
    sum(range(3000))
    os.write(write, line)
"""
LOADS = {
    "lines": (lambda: python(WRITER, "0", "4000"), lambda: python(WRITER, "0.05", "4000")),
    "blocks": (lambda: python(WRITER, "0", "65536"), lambda: python(WRITER, "0.02", "65536")),
}
