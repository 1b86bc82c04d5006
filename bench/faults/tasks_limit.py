"""A limit on the tasks of a program's cgroup that it reaches; before, none."""

import contextlib

import cgroups
from common import Skipped
from programs import python

TITLE = "a limit of tasks"
FINDINGS = {"tasks-limit"}
# The load itself sleeps.
USUAL = {"program-sleeps"}
THREADS = """
import threading
def work(): time.sleep(0.3)
while time.monotonic() < end:
    try: threading.Thread(target=work).start()
    except RuntimeError: pass
    time.sleep(0.01)
"""
PROCESSES = """
import subprocess
running = []
while time.monotonic() < end:
    try: running.append(subprocess.Popen(["sleep", "0.3"]))
    except OSError: pass
    running = [one for one in running if one.poll() is None]
    time.sleep(0.01)
for one in running: one.wait()
"""


def group_of():
    group = cgroups.group("tasks", "pids", "pids.max")
    if not (group / "pids.max").exists():
        raise Skipped("control groups here do not count tasks")
    return group


def inside(words):
    return cgroups.inside(group_of(), words)


LOADS = {
    "threads": (lambda: inside(python(THREADS)),) * 2,
    "processes": (lambda: inside(python(PROCESSES)),) * 2,
}


@contextlib.contextmanager
def injected():
    limit = group_of() / "pids.max"
    limit.write_text("12")
    try:
        yield
    finally:
        limit.write_text("max")
