"""A worker that somebody stops, while others wait for it; before, it works."""

from programs import python

TITLE = "a worker is stopped by a signal"
FINDINGS = {"program-stopped"}
WORKER = """
import os, signal, socket, sys, threading
share, kind = float(sys.argv[1]), sys.argv[2]
here, there = socket.socketpair() if kind == "socket" else (None, None)
(read, write), (back, answer) = os.pipe(), os.pipe()
worker = os.fork()
if worker == 0:
    if kind == "socket": here.close()
    else: os.close(write)
    while True:
        text = there.recv(64) if kind == "socket" else os.read(read, 64)
        if not text: os._exit(0)
        sum(range(20000))
        there.sendall(text) if kind == "socket" else os.write(answer, text)
def stop():
    while time.monotonic() < end:
        time.sleep(1 - share)
        os.kill(worker, signal.SIGSTOP); time.sleep(share); os.kill(worker, signal.SIGCONT)
if share: threading.Thread(target=stop, daemon=True).start()
while time.monotonic() < end:
    if kind == "socket": here.sendall(b"x"); here.recv(64)
    else: os.write(write, b"x"); os.read(back, 64)
os.kill(worker, signal.SIGCONT); os.kill(worker, signal.SIGKILL)
"""
LOADS = {
    "socket": (lambda: python(WORKER, "0", "socket"), lambda: python(WORKER, "0.9", "socket")),
    "pipe": (lambda: python(WORKER, "0", "pipe"), lambda: python(WORKER, "0.9", "pipe")),
}
