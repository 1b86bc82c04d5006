"""A connection for each request; before, connections that stay."""

from programs import python

TITLE = "a connection for each request"
FINDINGS = {"connection-for-each"}
TALK = """
import http.client, http.server, socket, socketserver, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *words): pass
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(64): self.request.sendall(data)
is_http, keeps = sys.argv[1] == "http", sys.argv[2] == "keep"
kind = http.server.ThreadingHTTPServer if is_http else socketserver.ThreadingTCPServer
kind.request_queue_size = 128
server = kind(("127.0.0.1", 0), Handler if is_http else Echo)
threading.Thread(target=server.serve_forever, daemon=True).start()
host, port = server.server_address
def client():
    if is_http: return http.client.HTTPConnection(host, port)
    return socket.create_connection((host, port))
def ask(peer):
    if is_http: peer.request("GET", "/"); peer.getresponse().read()
    else: peer.sendall(b"x"); peer.recv(64)
def work():
    peer = client()
    while time.monotonic() < end:
        if not keeps: peer.close(); peer = client()
        ask(peer); time.sleep(0.005)
all_of = [threading.Thread(target=work) for _ in range(3)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "HTTP": (lambda: python(TALK, "http", "keep"), lambda: python(TALK, "http", "new")),
    "echo": (lambda: python(TALK, "echo", "keep"), lambda: python(TALK, "echo", "new")),
}
