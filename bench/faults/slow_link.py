"""A link that is slower than what a program sends (a rate limit); before, it has none."""

import retransmits
from programs import python
from retransmits import INSIDE, around  # noqa: F401, the network is the same

TITLE = "a link with a rate limit"
FINDINGS = {"sends-wait"}
# A megabyte each half a second is all that the program wants.
TALK = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
def read(peer):
    while peer.recv(65536): pass
def send():
    sender = socket.create_connection(listener.getsockname()); receiver, _ = listener.accept()
    threading.Thread(target=read, args=(receiver,), daemon=True).start()
    while time.monotonic() < end: sender.sendall(b"x" * 65536); time.sleep(0.03)
all_of = [threading.Thread(target=send) for _ in range(int(sys.argv[1]))]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "one stream": (lambda: python(TALK, "1"),) * 2,
    "three streams": (lambda: python(TALK, "3"),) * 2,
}


def injected():
    # Much room, so that packets wait and are not dropped.
    return retransmits.shaped("tbf", "rate", "4mbit", "burst", "70000", "limit", "20000000")
