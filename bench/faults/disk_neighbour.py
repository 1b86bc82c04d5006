"""Another program writes much to the disk on which the measured one makes its writes durable, or reads."""

import contextlib
import pathlib
import subprocess

from programs import python

TITLE = "a neighbour on the disk"
FINDINGS = {"disk-neighbour"}
FOLDER = pathlib.Path.home() / ".cache"
LOG = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
while time.monotonic() < end:
    os.pwrite(file, b"x" * 8192, 0)
    os.fdatasync(file)
    time.sleep(0.005)
os.unlink(sys.argv[1])
"""
READ = """
import mmap, os, random, sys
if not os.path.exists(sys.argv[1]):
    with open(sys.argv[1], "wb") as file: [file.write(os.urandom(1 << 20)) for _ in range(64)]; os.fsync(file.fileno())
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 65536)
while time.monotonic() < end:
    os.preadv(file, [page], random.randrange(1000) * 65536)
    time.sleep(0.003)
"""
LOADS = {
    "log": (lambda: python(LOG, str(FOLDER / "fenxi-neighbour-log")),) * 2,
    "reads": (lambda: python(READ, str(FOLDER / "fenxi-neighbour-read")),) * 2,
}


@contextlib.contextmanager
def injected(folder=FOLDER):
    path = folder / "fenxi-neighbour-bulk"
    script = f"while :; do dd if=/dev/zero of={path} bs=4M count=150 oflag=direct status=none; done"
    bulk = [subprocess.Popen(["bash", "-c", script.replace(str(path), f"{path}-{i}")], start_new_session=True) for i in range(3)]
    try:
        yield
    finally:
        for one in bulk:
            subprocess.run(["kill", "--", f"-{one.pid}"])
            one.wait()
        for one in folder.glob("fenxi-neighbour-bulk*"):
            one.unlink()
