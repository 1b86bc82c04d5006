"""Another program on all CPUs while the measured one works."""

import contextlib

import beside
import mutex
from programs import shell

TITLE = "a noisy neighbour on the CPUs"
FINDINGS = {"cpu-neighbour"}
LOADS = {
    "threads": (lambda: mutex.threads("0", 20000, 2),) * 2,
    "compression": (lambda: shell("gzip -6 < /usr/bin/bash > /dev/null"),) * 2,
}


@contextlib.contextmanager
def injected():
    with beside.burners(3):
        yield
