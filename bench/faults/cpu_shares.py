"""A control group with the smallest weight beside another that wants all CPUs; before, it is alone."""

import contextlib

import beside
import cgroups
import mutex

TITLE = "a control group of little weight"
FINDINGS = {"cpu-neighbour"}


def grouped(name, weight, shares):
    """A group with this weight; in version 1 of the interface with these shares."""
    folder = cgroups.group(name, "cpu", "cpu.weight")
    if (folder / "cpu.shares").exists():
        (folder / "cpu.shares").write_text(str(shares))
    else:
        (folder / "cpu.weight").write_text(str(weight))
    return folder


def threads():
    return cgroups.inside(grouped("light", 1, 2), mutex.threads("0", 20000, 2))


LOADS = {"threads": (threads, threads)}


@contextlib.contextmanager
def around():
    try:
        yield
    finally:
        cgroups.remove(grouped("light", 1, 2))


@contextlib.contextmanager
def injected():
    folder = grouped("heavy", 100, 1024)
    try:
        with beside.burners(around=lambda words: cgroups.inside(folder, words)):
            yield
    finally:
        cgroups.remove(folder)
