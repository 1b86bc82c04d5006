"""A name server that answers late, asked before each piece of work; before, it answers at once."""

import contextlib
import subprocess
import sys

from common import Skipped
from programs import FOLDER, python

TITLE = "a slow name server"
FINDINGS = {"resolver-slow"}
FOLDER = FOLDER / "resolver"
SERVER = """
import asyncio, os, sys
class Names(asyncio.DatagramProtocol):
    def connection_made(self, to): self.to = to
    def datagram_received(self, asked, peer):
        name = asked[12:asked.index(b"\\0", 12) + 5]
        is_a = name[-4:-2] == b"\\0\\1"
        answer = asked[:2] + b"\\x81\\x80\\0\\1" + (b"\\0\\1" if is_a else b"\\0\\0") + b"\\0\\0\\0\\0" + name
        if is_a: answer += b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\0\\0\\4\\x7f\\0\\0\\1"
        asyncio.get_running_loop().call_later(0.12 if os.path.exists(sys.argv[1]) else 0, self.to.sendto, answer, peer)
async def main():
    await asyncio.get_running_loop().create_datagram_endpoint(Names, local_addr=("127.0.0.1", 53))
    print("ready", flush=True)
    await asyncio.sleep(1e9)
asyncio.run(main())
"""
ASK = """
import socket, sys, threading
def work():
    n = 0
    while time.monotonic() < end:
        n += 1
        socket.getaddrinfo(f"app{n}.example.com", 80)
        sum(range(60000))
all_of = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
for one in all_of: one.start()
for one in all_of: one.join()
"""


def inside(words):
    """The program alone sees another resolv.conf; the recorder does not."""
    return ["unshare", "-m", "bash", "-c", f'mount --bind {FOLDER}/resolv.conf /etc/resolv.conf && exec "$@"', "bash", *words]


LOADS = {
    "one thread": (lambda: inside(python(ASK, "1")),) * 2,
    "four threads": (lambda: inside(python(ASK, "4")),) * 2,
}


@contextlib.contextmanager
def around():
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:5\n")
    names = subprocess.Popen([sys.executable, "-c", SERVER, FOLDER / "slow"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if names.stdout.readline() != "ready\n":
            raise Skipped("no name server can listen at 127.0.0.1:53")
        yield
    finally:
        names.kill()
        names.wait()


@contextlib.contextmanager
def injected():
    (FOLDER / "slow").touch()
    try:
        yield
    finally:
        (FOLDER / "slow").unlink()
