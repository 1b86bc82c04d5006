"""A control group with the smallest weight beside another that wants all CPUs; before, it is alone."""

import contextlib
import os
import subprocess

import cgroups
import mutex

TITLE = "a control group of little weight"
FINDINGS = {"cpu-neighbour"}


def grouped(name, weight):
    folder = cgroups.group(name, "cpu", "cpu.weight")
    shares = folder / "cpu.shares"
    (shares if shares.exists() else folder / "cpu.weight").write_text(str(2 if shares.exists() and weight < 100 else 1024 if shares.exists() else weight))
    return folder


def threads():
    return cgroups.inside(grouped("light", 1), mutex.threads("0", 20000, 2))


LOADS = {"threads": (threads, threads)}


@contextlib.contextmanager
def injected():
    folder = grouped("heavy", 100)
    burners = [subprocess.Popen(cgroups.inside(folder, ["sh", "-c", "while :; do :; done"])) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
        cgroups.remove(folder)
