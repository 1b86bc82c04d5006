"""A receive buffer of a few kilobytes; before, the kernel's own."""

from programs import python

TITLE = "a small receive buffer"
FINDINGS = {"sends-wait", "receive-window-small", "window-limited"}
BULK = """
import socket, sys, threading
listener = socket.socket(); small = int(sys.argv[1])
if small: listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, small)
listener.bind(("127.0.0.1", 0)); listener.listen()
pairs = []
for _ in range(int(sys.argv[2])):
    sender = socket.create_connection(listener.getsockname()); pairs.append((sender, listener.accept()[0]))
def read(receiver):
    while receiver.recv(65536): pass
def send(sender):
    block = b"x" * 262144
    while time.monotonic() < end: sender.sendall(block); time.sleep(0.001)
for _, receiver in pairs: threading.Thread(target=read, args=(receiver,), daemon=True).start()
all_of = [threading.Thread(target=send, args=(sender,)) for sender, _ in pairs]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "one": (lambda: python(BULK, "0", "1"), lambda: python(BULK, "2048", "1")),
    "three": (lambda: python(BULK, "0", "3"), lambda: python(BULK, "2048", "3")),
}
