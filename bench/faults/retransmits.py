"""A link that drops packets, in a separate network namespace; before, it drops none."""

import contextlib
import subprocess

from common import Skipped
from programs import python

TITLE = "packets are lost on the way"
FINDINGS = {"tcp-retransmits"}
NAME = "fenxi-bench-link"
INSIDE = ["ip", "netns", "exec", NAME]
TALK = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve(peer):
    while (text := peer.recv(65536)): peer.sendall(text[:10])
def accept():
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
def ask():
    with socket.create_connection(listener.getsockname()) as peer:
        while time.monotonic() < end: peer.sendall(b"x" * int(sys.argv[1])); peer.recv(10); time.sleep(0.001)
all_of = [threading.Thread(target=ask) for _ in range(int(sys.argv[2]))]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "bulk": (lambda: python(TALK, "60000", "4"),) * 2,
    "requests": (lambda: python(TALK, "6000", "24"),) * 2,
}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def around():
    """The network that all runs are in."""
    try:
        ip("netns", "add", NAME)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skipped(f"no network namespace can be made: {error}") from error
    try:
        ip("-n", NAME, "link", "set", "lo", "up")
        yield
    finally:
        ip("netns", "delete", NAME)


@contextlib.contextmanager
def shaped(*words):
    """Shapes what the network sends, by a queueing discipline of `tc`."""
    subprocess.run([*INSIDE, "tc", "qdisc", "add", "dev", "lo", "root", *words], check=True)
    try:
        yield
    finally:
        subprocess.run([*INSIDE, "tc", "qdisc", "del", "dev", "lo", "root"], check=True)


def injected():
    # A bucket that is too small for what comes at once: the rest is dropped.
    return shaped("tbf", "rate", "40mbit", "burst", "70000", "limit", "75000")
