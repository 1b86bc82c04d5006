"""Requests in two small pieces without TCP_NODELAY: the second waits for the acknowledgement of the first. Before, one piece."""

from programs import python

TITLE = "small packets wait for acknowledgements"
FINDINGS = {"delayed-acks"}
TALK = """
import socket, sys, threading
pieces, size = int(sys.argv[1]), int(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
def read(peer, wanted):
    got = 0
    while got < wanted:
        data = peer.recv(wanted - got)
        if not data: return False
        got += len(data)
    return True
def serve(peer):
    while read(peer, size): peer.sendall(b"y" * size)
def accept():
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=serve, args=(peer,), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
def ask():
    with socket.create_connection(listener.getsockname()) as peer:
        while time.monotonic() < end:
            for piece in range(pieces): peer.send(b"x" * (size // pieces))
            if not read(peer, size): return
all_of = [threading.Thread(target=ask) for _ in range(2)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "two pieces": (lambda: python(TALK, "1", "200"), lambda: python(TALK, "2", "200")),
    "four pieces": (lambda: python(TALK, "1", "1200"), lambda: python(TALK, "4", "1200")),
}
