"""Connections to an address that does not answer, tried before the one that does; before, only that one."""

import contextlib
import subprocess

from common import Skipped
from programs import python

TITLE = "connections get no answer"
FINDINGS = {"connects-wait", "connects-unanswered"}
NAME = "fenxi-bench-silent"
TALK = """
import socket, struct, sys, threading
kind, is_silent = sys.argv[1], sys.argv[2] == "1"
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
def serve():
    while True:
        peer, _ = listener.accept()
        peer.recv(100); peer.sendall(b"y"); peer.close()
threading.Thread(target=serve, daemon=True).start()
def silent():
    if kind == "blocking":
        peer = socket.socket(); peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 400000))
        peer.connect(("10.213.7.9", 80))
    else: socket.create_connection(("10.213.7.9", 80), timeout=0.4)
def work():
    while time.monotonic() < end:
        if is_silent:
            try: silent()
            except OSError: pass
        with socket.create_connection(listener.getsockname()) as peer: peer.sendall(b"x"); peer.recv(1)
        sum(range(20000)); time.sleep(0.002)
all_of = [threading.Thread(target=work) for _ in range(2)]
for one in all_of: one.start()
for one in all_of: one.join()
"""


def inside(*words):
    return ["ip", "netns", "exec", NAME, *python(TALK, *words)]


LOADS = {
    "blocking": (lambda: inside("blocking", "0"), lambda: inside("blocking", "1")),
    "with a timeout": (lambda: inside("timeout", "0"), lambda: inside("timeout", "1")),
}


@contextlib.contextmanager
def around():
    """A separate network namespace, with a link that nothing comes back from."""
    words = ["netns add N", "-n N link set lo up", "-n N link add silent type dummy", "-n N addr add 10.213.7.1/24 dev silent", "-n N link set silent up arp off"]
    try:
        for line in words:
            subprocess.run(["ip", *line.replace("N", NAME).split()], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "delete", NAME], capture_output=True)
        raise Skipped(f"no network namespace can be made: {error}") from error
    try:
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", NAME], check=True)
