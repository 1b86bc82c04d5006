"""Another program on all CPUs while the measured one works."""

import contextlib
import os
import subprocess

from programs import SECONDS, compiled, shell
import mutex

TITLE = "a noisy neighbour on the CPUs"
FINDINGS = {"cpu-neighbour"}
LOADS = {
    "threads": (lambda: mutex.threads("0", 20000, 2),) * 2,
    "compression": (lambda: shell("gzip -6 < /usr/bin/bash > /dev/null"),) * 2,
}


@contextlib.contextmanager
def injected():
    number = 3 * (os.cpu_count() or 1)
    burning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(number)]
    try:
        yield
    finally:
        for one in burning:
            one.kill()
            one.wait()
