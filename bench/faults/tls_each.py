"""A TLS handshake for each request; before, connections stay."""

import subprocess

from common import Skipped
from programs import FOLDER, python

TITLE = "a TLS handshake for each request"
FINDINGS = {"connection-for-each", "connections-reset"}
TALK = """
import http.client, http.server, ssl, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1
    def do_GET(self): self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer.request_queue_size = 128
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); certificate.load_cert_chain(sys.argv[3])
server.socket = certificate.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
trusting = ssl._create_unverified_context()
def work():
    peer = None
    while time.monotonic() < end:
        if peer is None or sys.argv[1] == "new": peer = http.client.HTTPSConnection(*server.server_address, context=trusting)
        peer.request("GET", "/"); peer.getresponse().read()
        if sys.argv[1] == "new": peer.close()
        time.sleep(0.005)
all_of = [threading.Thread(target=work) for _ in range(int(sys.argv[2]))]
for one in all_of: one.start()
for one in all_of: one.join()
"""


def certificate():
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "certificate.pem"
    if not path.exists():
        try:
            made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=localhost", "-keyout", "-"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Skipped(f"no certificate can be made: {error}") from error
        path.write_bytes(made.stdout)
    return str(path)


LOADS = {
    "one client": (lambda: python(TALK, "keep", "1", certificate()), lambda: python(TALK, "new", "1", certificate())),
    "six clients": (lambda: python(TALK, "keep", "6", certificate()), lambda: python(TALK, "new", "6", certificate())),
}
