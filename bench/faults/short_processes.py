"""A program started for each step; before, what the shell or the language has built in."""

from programs import python, shell

TITLE = "a process for each step"
FINDINGS = {"short-processes"}
STEPS = """
import subprocess, sys
while time.monotonic() < end:
    if sys.argv[1] == "process": subprocess.run(["/bin/expr", "1", "+", "2"], stdout=subprocess.DEVNULL)
    else: sum(range(2000))
"""
LOADS = {
    "shell": (lambda: shell("x=$((1 + 2))"), lambda: shell("x=$(/bin/expr 1 + 2)")),
    "Python": (lambda: python(STEPS, "none"), lambda: python(STEPS, "process")),
}
