"""A server with a short accept queue that takes connections late; before, a long queue."""

from programs import python

TITLE = "a full accept queue"
FINDINGS = {"listen-overflows"}
TALK = """
import socket, sys, threading
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(int(sys.argv[1]))
pause = float(sys.argv[2])
def serve():
    while True:
        peer, _ = listener.accept()
        peer.recv(1); peer.sendall(b"y"); peer.close(); time.sleep(pause)
threading.Thread(target=serve, daemon=True).start()
def ask():
    while time.monotonic() < end:
        try:
            with socket.create_connection(listener.getsockname(), timeout=5) as peer: peer.sendall(b"x"); peer.recv(1)
        except OSError: pass
all_of = [threading.Thread(target=ask) for _ in range(int(sys.argv[3]))]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "slow to accept": (lambda: python(TALK, "64", "0.02", "2"), lambda: python(TALK, "1", "0.05", "12")),
    "many clients": (lambda: python(TALK, "128", "0.01", "4"), lambda: python(TALK, "4", "0.03", "40")),
}
