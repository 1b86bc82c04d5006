"""Random bytes of the kernel in bulk; before, few."""

from programs import python, shell

TITLE = "the kernel makes random bytes"
FINDINGS = set()
# Kernel time of one full thread: its function has to be named.
SENTENCE = "chacha"
KEYS = """
import os, sys
while time.monotonic() < end:
    key = os.urandom(int(sys.argv[1]))
    sum(range(3000))
"""
LOADS = {
    "Python": (lambda: python(KEYS, "16"), lambda: python(KEYS, "200000")),
    "dd": (lambda: shell("dd if=/dev/zero of=/dev/null bs=64k count=2000 status=none"), lambda: shell("dd if=/dev/urandom of=/dev/null bs=64k count=2000 status=none")),
}
