"""Connections to a port without a listener, over and over; before, with one."""

from programs import python

TITLE = "connections are refused, and tried again"
FINDINGS = {"connects-refused"}
TALK = """
import socket, sys, threading
share, pause = float(sys.argv[1]), float(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
nobody = socket.socket(); nobody.bind(("127.0.0.1", 0))
def serve():
    while True:
        peer, _ = listener.accept()
        peer.recv(100); peer.sendall(b"y"); peer.close()
threading.Thread(target=serve, daemon=True).start()
n = 0
while time.monotonic() < end:
    n += 1
    try:
        with socket.create_connection((nobody if n % 100 < 100 * share else listener).getsockname()) as peer: peer.sendall(b"x"); peer.recv(1)
        sum(range(20000))
        time.sleep(0.02)
    except OSError: time.sleep(pause)
"""
LOADS = {
    "one of two": (lambda: python(TALK, "0", "0.05"), lambda: python(TALK, "0.6", "0.05")),
    "at once again": (lambda: python(TALK, "0", "0"), lambda: python(TALK, "0.9", "0.002")),
}
