"""A receiver that reads slower than the sender sends."""

from programs import python

TITLE = "a receiver that is slow to read"
FINDINGS = {"sends-wait"}
TALK = """
import socket, sys, threading
pause, size = float(sys.argv[1]), int(sys.argv[2])
if sys.argv[3] == "tcp":
    listener = socket.create_server(("127.0.0.1", 0)); sender = socket.create_connection(listener.getsockname()); receiver, _ = listener.accept()
else: sender, receiver = socket.socketpair()
def read():
    while receiver.recv(65536): time.sleep(pause) if pause else None
threading.Thread(target=read, daemon=True).start()
while time.monotonic() < end:
    sender.sendall(b"x" * size)
    if not pause: time.sleep(0.005)
"""
LOADS = {
    "TCP": (lambda: python(TALK, "0", "65536", "tcp"), lambda: python(TALK, "0.01", "65536", "tcp")),
    "Unix": (lambda: python(TALK, "0", "16384", "unix"), lambda: python(TALK, "0.01", "16384", "unix")),
}
