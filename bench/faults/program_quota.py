"""A CPU quota on the cgroup of a program."""

import contextlib

import cgroups
import cpu_quota
import mutex
from programs import shell

TITLE = "CPU quota on a program"
FINDINGS = {"cgroup-throttled"}
PORT = "program"


def inside(words):
    """The same, in a separate group."""
    return cgroups.inside(cpu_quota.group_of(PORT), words)


LOADS = {
    "threads": (lambda: inside(mutex.threads("0", 20000, 3)),) * 2,
    "compression": (lambda: inside(shell("gzip -6 < /usr/bin/bash > /dev/null")),) * 2,
}


@contextlib.contextmanager
def injected():
    with cpu_quota.limited(cpu_quota.quota_of(cpu_quota.group_of(PORT))):
        yield
