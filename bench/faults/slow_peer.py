"""High latency to a server: each answer comes some milliseconds later; before, at once."""

from programs import python

TITLE = "high latency to a server"
FINDINGS = {"waits-for-peer"}
# The other end is a separate process that nothing of this run has begun, behind what holds messages back for a while.
TALK = """
import http.client, http.server, os, selectors, signal, socket, sys, threading
delay, kind = float(sys.argv[1]), sys.argv[2]
listener = socket.create_server(("127.0.0.1", 0))
def hold_back(source, sink):
    # Waits for messages and for the time to hand them on with one call, as a network does it without a thread that sleeps.
    waiting, watch = [], selectors.DefaultSelector()
    watch.register(source, selectors.EVENT_READ)
    while True:
        if watch.select(max(0, waiting[0][0] - time.monotonic()) if waiting else None):
            text = source.recv(65536)
            if not text: return
            waiting.append((time.monotonic() + delay, text))
        while waiting and waiting[0][0] <= time.monotonic(): sink.sendall(waiting.pop(0)[1])
def serve(peer):
    if delay:
        near, far = peer, socket.socketpair()
        for pair in ((near, far[0]), (far[0], near)): threading.Thread(target=hold_back, args=pair, daemon=True).start()
        peer = far[1]
    if kind == "http":
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version, wbufsize = "HTTP/1.1", -1
            def do_GET(self): self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
            def log_message(self, *words): pass
        Handler(peer, ("", 0), None)
    else:
        while (text := peer.recv(4096)): peer.sendall(text)
server = os.fork()
if server == 0:
    os.setsid()
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
if kind == "http":
    client = http.client.HTTPConnection(*listener.getsockname())
    while time.monotonic() < end: client.request("GET", "/"); client.getresponse().read()
else:
    peer = socket.create_connection(listener.getsockname())
    while time.monotonic() < end: peer.sendall(b"x" * 100); peer.recv(4096)
os.kill(server, signal.SIGKILL)
"""
LOADS = {
    "HTTP": (lambda: python(TALK, "0", "http"), lambda: python(TALK, "0.004", "http")),
    "messages": (lambda: python(TALK, "0", "echo"), lambda: python(TALK, "0.002", "echo")),
}
