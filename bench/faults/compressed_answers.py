"""Each answer is compressed as far as it goes; before, it is sent as it is."""

from programs import python

TITLE = "answers are compressed"
FINDINGS = set()
# CPU time in a library without symbols: its name has to be there.
SENTENCE = "libz.so"
ANSWERS = """
import http.server, sys, threading, urllib.request, zlib
level = int(sys.argv[1]); page = b"".join(b"<td>%d</td>" % (i * 7919 % 100003) for i in range(20000))
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"; wbufsize = 1 << 20
    def do_GET(self):
        body = zlib.compress(page, level) if level else page
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
import http.client
def ask():
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
    while time.monotonic() < end: connection.request("GET", "/"); connection.getresponse().read(); time.sleep(0.01)
all_of = [threading.Thread(target=ask) for _ in range(int(sys.argv[2]))]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "one client": (lambda: python(ANSWERS, "0", "1"), lambda: python(ANSWERS, "9", "1")),
    "four clients": (lambda: python(ANSWERS, "0", "4"), lambda: python(ANSWERS, "9", "4")),
}
