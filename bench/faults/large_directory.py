"""Each step lists a folder with very many files and looks at each; before, there are few."""

from programs import python

TITLE = "a folder of very many files is listed"
FINDINGS = set()
# Kernel time of one full thread: the system call has to be named.
SENTENCE = "newfstatat"
LISTS = """
import os, shutil, sys, tempfile
folder = tempfile.mkdtemp(dir=os.path.join(os.path.expanduser("~"), ".cache"))
for i in range(int(sys.argv[1])): os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
while time.monotonic() < end:
    with os.scandir(folder) as all_of: total = sum(entry.stat().st_size for entry in all_of)
    for _ in range(20): sum(range(20000))
shutil.rmtree(folder)
"""
FIND = """
import os, shutil, subprocess, sys, tempfile
folder = tempfile.mkdtemp(dir=os.path.join(os.path.expanduser("~"), ".cache"))
for i in range(int(sys.argv[1])): os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
while time.monotonic() < end: subprocess.run(["du", "-s", folder], stdout=subprocess.DEVNULL); time.sleep(0.01)
shutil.rmtree(folder)
"""
LOADS = {
    "Python": (lambda: python(LISTS, "50"), lambda: python(LISTS, "40000")),
    "du": (lambda: python(FIND, "50"), lambda: python(FIND, "40000")),
}
