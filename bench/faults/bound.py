"""A program that may use one CPU only, by its affinity."""

import mutex
from programs import python

TITLE = "a program is bound to one CPU"
FINDINGS = {"bound-to-cpus"}


def bound(words):
    return ["taskset", "-c", "0", *words]


LOADS = {
    "threads": (lambda: mutex.threads("0", 20000, 3), lambda: bound(mutex.threads("0", 20000, 3))),
    "processes": (lambda: python(mutex.WORKERS, "processes"), lambda: bound(python(mutex.WORKERS, "processes"))),
}
