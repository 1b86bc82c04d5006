"""A program at the lowest priority beside others that have the usual one; before, it is alone."""

import contextlib

import beside
import mutex
from programs import python

TITLE = "lowest priority beside a busy program"
FINDINGS = {"cpu-neighbour"}
COUNT = "while time.monotonic() < end: sum(range(20000))"


def nice(words):
    return ["nice", "-n", "19", *words]


LOADS = {
    "threads": (lambda: nice(mutex.threads("0", 20000, 2)),) * 2,
    "Python": (lambda: nice(python(COUNT)),) * 2,
}


@contextlib.contextmanager
def injected():
    with beside.burners():
        yield
