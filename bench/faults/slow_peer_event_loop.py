"""High latency to a server, for clients that wait with a timeout or in an event loop: each answer comes some milliseconds later; before, at once."""

from slow_peer import TALK
from programs import python

TITLE = "high latency to a server, for clients that poll"
FINDINGS = {"waits-for-peer"}
# As the messages of slow_peer, with another client.
HEAD = TALK[:TALK.rindex('if kind == "http":\n    client')]
TIMEOUT = HEAD + """
address = listener.getsockname()
listener.close()
peer = socket.create_connection(address, timeout=5)
while time.monotonic() < end: peer.sendall(b"x" * 100); peer.recv(4096)
os.kill(server, signal.SIGKILL)
"""
LOOP = HEAD + """
import asyncio
address = listener.getsockname()
listener.close()
async def ask():
    reader, writer = await asyncio.open_connection(*address)
    while time.monotonic() < end: writer.write(b"x" * 100); await reader.read(4096)
async def main(): await asyncio.gather(*(ask() for _ in range(4)))
asyncio.run(main())
os.kill(server, signal.SIGKILL)
"""
LOADS = {
    "timeout": (lambda: python(TIMEOUT, "0", "echo"), lambda: python(TIMEOUT, "0.004", "echo")),
    "event loop": (lambda: python(LOOP, "0", "echo"), lambda: python(LOOP, "0.004", "echo")),
}
