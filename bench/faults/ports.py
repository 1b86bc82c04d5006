"""Connections that use up the local ports, in a separate network namespace; before, connections that stay."""

import contextlib
import subprocess

import retransmits
from programs import python
from retransmits import around  # noqa: F401, the network is the same

TITLE = "local ports are used up"
FINDINGS = {"ports-used-up"}
# In a network whose ports are few, so that it takes no minute: the recorder is inside, and reads how many there are.
INSIDE = retransmits.INSIDE
TALK = """
import socket, sys, threading
keeps, pause = sys.argv[1] == "keep", float(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
def serve(peer):
    while text := peer.recv(64): peer.sendall(text)
    peer.close()
def accept():
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
peer = None
while time.monotonic() < end:
    try:
        peer = peer or socket.create_connection(listener.getsockname())
        peer.sendall(b"x"); peer.recv(64)
        if not keeps: peer.close(); peer = None
    except OSError: peer = None
    time.sleep(pause)
"""
LOADS = {
    "one after the other": (lambda: python(TALK, "keep", "0.002"), lambda: python(TALK, "new", "0.002")),
    "slower": (lambda: python(TALK, "keep", "0.005"), lambda: python(TALK, "new", "0.005")),
}


@contextlib.contextmanager
def injected():
    def ports(text):
        subprocess.run([*INSIDE, "sysctl", "-qw", f"net.ipv4.ip_local_port_range={text}"], check=True)

    ports("40000 40599")
    # On loopback the kernel takes over connections in TIME_WAIT, so that ports would never be short.
    subprocess.run([*INSIDE, "sysctl", "-qw", "net.ipv4.tcp_tw_reuse=0"], check=True)
    try:
        yield
    finally:
        ports("32768 60999")
        subprocess.run([*INSIDE, "sysctl", "-qw", "net.ipv4.tcp_tw_reuse=2"], check=True)
