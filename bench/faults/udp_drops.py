"""A receiver of datagrams that does not keep up with its sender."""

from programs import python

TITLE = "datagrams are dropped at the receiver"
# The receiver is one thread that works: what it lacks is a CPU more, and what is lost follows.
FINDINGS = {"udp-receive-drops", "one-thread-saturated", "one-cpu-saturated"}
TALK = """
import os, signal, socket, sys
receiver = socket.socket(type=socket.SOCK_DGRAM); receiver.bind(("127.0.0.1", 0)); receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
sender = socket.socket(type=socket.SOCK_DGRAM); sender.connect(receiver.getsockname())
pause, size = float(sys.argv[1]), int(sys.argv[2])
reader = os.fork()
if reader == 0:
    while receiver.recv(65536):
        until = time.monotonic() + pause
        while time.monotonic() < until: pass
while time.monotonic() < end:
    sender.send(b"x" * size)
    time.sleep(0.001)
os.kill(reader, signal.SIGKILL)
"""
LOADS = {
    "small": (lambda: python(TALK, "0", "100"), lambda: python(TALK, "0.01", "100")),
    "large": (lambda: python(TALK, "0", "8000"), lambda: python(TALK, "0.01", "8000")),
}
