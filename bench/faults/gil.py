"""Threads of an interpreter that lets one of them run at a time; before, processes."""

from programs import python

TITLE = "threads share the lock of an interpreter"
FINDINGS = {"threads-take-turns", "one-cpu-saturated"}
WORK = """
import hashlib, sys, multiprocessing, threading
def numbers():
    while time.monotonic() < end: sum(n * n for n in range(2000))
def texts():
    while time.monotonic() < end: sorted(str(n) for n in range(2000))
kind = multiprocessing.Process if sys.argv[1] == "processes" else threading.Thread
all_of = [kind(target=globals()[sys.argv[2]]) for _ in range(4)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {name: (lambda name=name: python(WORK, "processes", name), lambda name=name: python(WORK, "threads", name)) for name in ("numbers", "texts")}
