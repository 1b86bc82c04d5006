"""A program sleeps before each step (a pause between retries, a poll loop); before, it does not."""

from programs import python, shell

TITLE = "a program sleeps between its steps"
FINDINGS = {"program-sleeps"}
RETRY = """
import sys
pause = float(sys.argv[1])
while time.monotonic() < end:
    sum(range(50000))
    if pause: time.sleep(pause)
"""
COUNT = "for n in {1..2000}; do :; done"
LOADS = {
    "between retries": (lambda: python(RETRY, "0"), lambda: python(RETRY, "0.03")),
    "short pauses": (lambda: python(RETRY, "0"), lambda: python(RETRY, "0.005")),
    "shell": (lambda: shell(COUNT), lambda: shell(f"{COUNT}; sleep 0.2")),
}
