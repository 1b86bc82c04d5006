"""Clients that give up too early and ask again, while the server still works on what they gave up; before, they wait."""

from programs import python

TITLE = "retries that double the work"
FINDINGS = {"connections-reset"}
TALK = """
import socket, sys, threading, os, signal
patience, clients, work = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
server = os.fork()
if server == 0:
    def serve(peer):
        try:
            peer.recv(100); sum(range(work)); peer.sendall(b"y" * 100); peer.close()
        except OSError: pass
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
def ask():
    while time.monotonic() < end:
        for attempt in range(4):
            try:
                with socket.create_connection(listener.getsockname(), timeout=patience) as peer:
                    peer.sendall(b"x" * 100)
                    if peer.recv(100): break
            except OSError: pass
        time.sleep(0.3)
all_of = [threading.Thread(target=ask) for _ in range(clients)]
for one in all_of: one.start()
for one in all_of: one.join()
os.kill(server, signal.SIGKILL)
"""
LOADS = {
    "few clients": (lambda: python(TALK, "5", "6", "2000000"), lambda: python(TALK, "0.02", "6", "2000000")),
    "many clients": (lambda: python(TALK, "5", "24", "500000"), lambda: python(TALK, "0.006", "24", "500000")),
}
