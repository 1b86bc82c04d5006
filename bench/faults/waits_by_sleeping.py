"""A program sleeps before each step (a pause between retries, a poll loop); before, it does not."""

from programs import python

TITLE = "a program sleeps between its steps"
FINDINGS = {"program-sleeps"}
POLL = """
import os, sys, threading
pause = float(sys.argv[1])
ready = threading.Event()
def make():
    while time.monotonic() < end: sum(range(30000)); ready.set(); time.sleep(0.0005) if not pause else None
threading.Thread(target=make, daemon=True).start()
while time.monotonic() < end:
    if pause:
        while not ready.is_set(): time.sleep(pause)
        time.sleep(pause)
    else: ready.wait()
    ready.clear(); sum(range(10000))
"""
RETRY = """
import sys
pause = float(sys.argv[1])
while time.monotonic() < end:
    sum(range(50000))
    if pause: time.sleep(pause)
"""
LOADS = {
    "between retries": (lambda: python(RETRY, "0"), lambda: python(RETRY, "0.03")),
    "short pauses": (lambda: python(RETRY, "0"), lambda: python(RETRY, "0.005")),
}
