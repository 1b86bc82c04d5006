"""A limit of open files that a program reaches; before, a limit that it does not."""

from programs import python

TITLE = "a limit of open files"
FINDINGS = {"files-limit"}
# Peers that stay connected; the server may open so many files, and its accept fails when they are used up.
SERVER = """
import resource, socket, sys, threading
limit, peers = int(sys.argv[1]), int(sys.argv[2])
import os
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
server = os.fork()
if server == 0:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    held = []
    while time.monotonic() < end:
        try: held.append(listener.accept()[0])
        except OSError: time.sleep(0.01)
    os._exit(0)
held = []
while time.monotonic() < end:
    try:
        if len(held) == peers: held.pop(0).close(); time.sleep(0.005)
        held.append(socket.create_connection(listener.getsockname(), timeout=0.5))
    except OSError: pass
os.waitpid(server, 0)
"""
FILES = """
import os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
held = []
while time.monotonic() < end:
    try:
        held.append(open("/dev/zero", "rb", buffering=0)); held[-1].read(100)
        if len(held) == 300: [one.close() for one in held[:100]]; del held[:100]
    except OSError: time.sleep(0.002)
"""
LOADS = {
    "connections": (lambda: python(SERVER, "2000", "200"), lambda: python(SERVER, "128", "200")),
    "files": (lambda: python(FILES, "900"), lambda: python(FILES, "256")),
}
