"""A memory limit on the cgroup of a program below what it uses again and again."""

import contextlib
import pathlib

import cgroups
from programs import python

TITLE = "memory limit on a program"
FINDINGS = {"cgroup-memory-limit", "oom-kill", "memory-stalls"}
READER = """
import os, sys
path = sys.argv[1]
text = os.urandom(1 << 20)
with open(path, "wb", 0) as file:
    for _ in range(160): file.write(text)
    os.fsync(file.fileno())
while time.monotonic() < end:
    with open(path, "rb", 0) as file:
        while file.read(1 << 18): pass
        time.sleep(0.01)
os.unlink(path)
"""
# A child that is ended for its memory is begun anew, as a service manager does it.
GROWING = """
import os
while time.monotonic() < end:
    if os.fork() == 0:
        kept = [bytearray(b"x") * (1 << 20) for _ in range(90)]
        time.sleep(0.2)
        os._exit(0)
    os.wait()
"""


def group_of():
    return cgroups.group("memory", "memory", "memory.max")


def inside(words):
    return cgroups.inside(group_of(), words)


def limit_of(group):
    second = group / "memory.max"
    return second if second.exists() else group / "memory.limit_in_bytes"


def path():
    # Not in memory: /tmp may be.
    return str(pathlib.Path.home() / ".cache" / "fenxi-memory-limit")


LOADS = {
    "page cache": (lambda: inside(python(READER, path())),) * 2,
    "growing": (lambda: inside(python(GROWING)),) * 2,
}


@contextlib.contextmanager
def limited(group, most):
    limit = limit_of(group)
    limit.write_text(str(most))
    try:
        yield
    finally:
        limit.write_text("max" if limit.name == "memory.max" else "-1")


@contextlib.contextmanager
def injected():
    with limited(group_of(), 60 << 20):
        yield
