"""Processes that work under one lock file; before, each has its own."""

from programs import python, shell

TITLE = "processes share a lock file"
FINDINGS = {"file-lock-waits"}
WORKERS = """
import fcntl, multiprocessing, sys, tempfile
call = getattr(fcntl, sys.argv[1])
def work(number):
    with open(f"{tempfile.gettempdir()}/fenxi-lock-{0 if sys.argv[2] == 'one' else number}", "w") as file:
        while time.monotonic() < end:
            call(file, fcntl.LOCK_EX)
            sum(range(100000))
            call(file, fcntl.LOCK_UN)
all_of = [multiprocessing.Process(target=work, args=(number,)) for number in range(3)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "flock": (lambda: python(WORKERS, "flock", "own"), lambda: python(WORKERS, "flock", "one")),
    "fcntl": (lambda: python(WORKERS, "lockf", "own"), lambda: python(WORKERS, "lockf", "one")),
}
