"""Reads and writes of a byte each; before, of many."""

from programs import SECONDS, python

TITLE = "reads and writes of single bytes"
FINDINGS = {"tiny-calls"}
COPY = """
import os, sys
size = int(sys.argv[1])
source, sink = os.open("/usr/bin/bash", os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
while time.monotonic() < end:
    text = os.read(source, size)
    if not text: os.lseek(source, 0, 0)
    os.write(sink, text)
"""


def dd(size):
    return ["bash", "-c", f"timeout {SECONDS} dd if=/dev/zero of=/dev/null bs={size} status=none || true"]


LOADS = {
    "dd": (lambda: dd("64k"), lambda: dd("1")),
    "copy": (lambda: python(COPY, "65536"), lambda: python(COPY, "1")),
}
