"""Another program of a real-time class takes the CPUs while the measured one works."""

import contextlib
import os
import subprocess

import mutex
from programs import shell

TITLE = "a real-time neighbour on the CPUs"
FINDINGS = {"cpu-neighbour"}
LOADS = {
    "threads": (lambda: mutex.threads("0", 20000, 2),) * 2,
    "compression": (lambda: shell("gzip -6 < /usr/bin/bash > /dev/null"),) * 2,
}


@contextlib.contextmanager
def injected():
    # It leaves a third of each tenth of a second to the others.
    text = "import time\nwhile True:\n    end = time.monotonic() + 0.066\n    while time.monotonic() < end: pass\n    time.sleep(0.034)"
    burning = [subprocess.Popen(["chrt", "-f", "20", "python3", "-c", text]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in burning:
            one.kill()
            one.wait()
