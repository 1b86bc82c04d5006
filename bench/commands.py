#!/usr/bin/env python3
"""How much of the elapsed time of ordinary commands `fenxi record -- COMMAND` explains: the residual of each split.

Records 30 commands of 0.2 to 60 s alone, and again while every CPU is kept busy by others, and prints for each the elapsed time, the
residual in percent of it, and the largest parts. Needs a built `fenxi` (--fenxi), python3 and the usual tools; a command whose
program is missing is left out. Traffic is to loopback only.

    bench/commands.py --fenxi target/release/fenxi            all of it: some 15 minutes
    bench/commands.py --quick                                 those that take less than 5 s
    bench/commands.py --only lock,dd                          those whose names contain one of these
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import http.server

LIMIT = 5.0
RESIDUAL = "other (residual)"

LOCKED = """
import threading, time, ctypes
lock = threading.Lock()
work = bytes(1 << 16)
import hashlib
def run():
    end = time.monotonic() + {seconds}
    while time.monotonic() < end:
        with lock:
            hashlib.sha256(work).digest()
threads = [threading.Thread(target=run) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
"""

THREADS = """
import threading, hashlib, time
work = bytes(1 << 20)
def run():
    end = time.monotonic() + {seconds}
    while time.monotonic() < end:
        hashlib.sha256(work).digest()
threads = [threading.Thread(target=run) for _ in range({threads})]
[t.start() for t in threads]; [t.join() for t in threads]
"""

# A child that idles in accept, beside a parent that sleeps and works.
BYSTANDER = """
import os, socket, time, hashlib, signal
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
child = os.fork()
if child == 0:
    server.accept()
    os._exit(0)
for _ in range(20):
    time.sleep(0.1); hashlib.sha256(bytes(30 << 20)).digest()
os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
"""

PIPED = """
import subprocess
for _ in range(5):
    subprocess.run(["sh", "-c", "sleep 0.3; head -c 20000000 /dev/zero | gzip -1 | wc -c"], stdout=subprocess.DEVNULL)
"""


def commands(port):
    """Names, seconds that they take about, and the command lines."""
    py = lambda text, **values: [sys.executable, "-c", text.format(**values) if values else text]
    sh = lambda text: ["sh", "-c", text]
    return [
        ("gzip 0.3 s", 0.3, sh("head -c 30000000 data | gzip -1 >out.gz")),
        ("gzip 3 s", 3, sh("cat data data data | gzip -6 >out.gz")),
        ("gzip 15 s", 15, sh("for i in 1 2 3 4 5; do cat data data data | gzip -6; done >out.gz")),
        ("sort", 3, sh("sort text >out.txt")),
        ("sort -R threads", 4, sh("sort --parallel=4 -S 64M -k2 text >out.txt")),
        ("find /usr", 0.5, sh("find /usr -xdev -type f | wc -l")),
        ("find -exec", 2, sh("find /usr/bin -type f | head -400 | xargs -n 1 cksum >/dev/null")),
        ("grep", 1, sh("for i in 1 2 3 4 5 6 7 8; do grep -ci 'a.*b.*cc*d.*ee*f.*j' text; done >out.n")),
        ("awk", 2, sh("awk '{ n += length($1) } END { print n }' text text text")),
        ("tar", 2, sh("tar cf - /usr/lib/python3* 2>/dev/null | wc -c")),
        ("tar gz", 6, sh("tar czf out.tgz /usr/lib/python3* 2>/dev/null")),
        ("shell loop", 2, sh("i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done")),
        ("make-like", 4, sh("for i in 1 2 3 4 5 6 7 8; do head -c 20000000 data | sha256sum & [ $((i % 2)) = 0 ] && wait; done; wait")),
        ("sleep 0.2 s", 0.2, ["sleep", "0.2"]),
        ("sleep 2 s", 2, ["sleep", "2"]),
        ("sleep mix", 3, sh("for i in 1 2 3 4 5 6; do sleep 0.3; head -c 15000000 data | sha256sum; done")),
        ("sleep short", 3, sh("i=0; while [ $i -lt 100 ]; do sleep 0.02; i=$((i+1)); done")),
        ("timeout", 2, ["timeout", "2", "sh", "-c", "while :; do :; done"]),
        ("dd fsync", 2, sh("for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=out.dd bs=1M count=64 conv=fsync; done 2>/dev/null")),
        ("dd dsync", 2, sh("dd if=/dev/zero of=out.dd bs=4k count=6000 oflag=dsync 2>/dev/null")),
        ("sync loop", 2, sh("i=0; while [ $i -lt 400 ]; do echo $i >out.s; sync out.s; i=$((i+1)); done")),
        ("curl", 2, sh(f"i=0; while [ $i -lt 20 ]; do curl -s http://127.0.0.1:{port}/slow >/dev/null; i=$((i+1)); done")),
        ("curl many", 2, sh(f"i=0; while [ $i -lt 100 ]; do curl -s http://127.0.0.1:{port}/ >/dev/null; i=$((i+1)); done")),
        ("openssl speed", 3, ["openssl", "speed", "-seconds", "1", "-evp", "sha256"]),
        ("python start", 0.3, sh("for i in 1 2 3 4 5; do python3 -c 'import json'; done")),
        ("python 4 threads", 5, py(THREADS, threads=4, seconds=5)),
        ("python lock", 5, py(LOCKED, seconds=5)),
        ("python bystander", 3, py(BYSTANDER)),
        ("python subprocess", 4, py(PIPED)),
        ("long mix 60 s", 60, sh("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 2; cat data data | gzip -6 >out.gz; sort text >out.txt; done")),
    ]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers at once, or after 50 ms."""

    def do_GET(self):
        if self.path == "/slow":
            threading.Event().wait(0.05)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def prepare(folder):
    """Data that compresses as text does, and lines to sort."""
    import random

    random.seed(1)
    words = ["".join(random.choices("abcdefghij", k=random.randint(2, 9))) for _ in range(2000)]
    with open(os.path.join(folder, "text"), "w") as text:
        for _ in range(600_000):
            text.write(" ".join(random.choices(words, k=4)) + "\n")
    line = open(os.path.join(folder, "text"), "rb").read()
    with open(os.path.join(folder, "data"), "wb") as data:
        data.write(line[: 30 << 20])


def record(fenxi, folder, name, argv):
    """The split of one run: elapsed, residual, parts."""
    store = os.path.join(folder, "store")
    env = {**os.environ, "FENXI_STORE": store, "NO_COLOR": "1"}
    made = subprocess.run([fenxi, "record", "--name", name, "--", *argv], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if "recorded " not in made.stderr:
        raise RuntimeError(made.stderr.strip())
    told = subprocess.run([fenxi, "explain", "@1", "--json"], cwd=folder, env=env, capture_output=True, text=True)
    whole, parts = None, {}
    for line in told.stdout.splitlines():
        row = json.loads(line)
        part, mean = row.get("part"), row.get("mean", row.get("means"))
        mean = mean[0] if isinstance(mean, list) else mean
        if part is None or mean is None:
            continue
        if part in ("elapsed", "latency"):
            whole = (part, mean)
        else:
            parts[part] = mean
    if whole is None:
        raise RuntimeError(f"no split: {told.stdout[:200]} {told.stderr[:200]}")
    return whole, parts


def burners():
    """As many as CPUs, of the lowest priority that competes."""
    burn = "while True: pass"
    return [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(os.cpu_count() or 1)]


def measure(args, folder, port, load):
    others = burners() if load == "full" else []
    missed, n = [], 0
    try:
        for name, seconds, argv in commands(port):
            if args.quick and seconds > 5 or args.only and not any(part in name for part in args.only.split(",")):
                continue
            if shutil.which(argv[0]) is None:
                print(f"{load:6} {name:18} left out: no {argv[0]}")
                continue
            try:
                (what, whole), parts = record(args.fenxi, folder, name, argv)
            except RuntimeError as error:
                print(f"{load:6} {name:18} failed: {error}")
                missed.append(name)
                continue
            n += 1
            residual = parts.pop(RESIDUAL)
            share = 100 * residual / whole if whole else 0.0
            unit = "s" if what == "elapsed" else "ms"
            largest = sorted(parts.items(), key=lambda part: -part[1])[:4]
            said = ", ".join(f"{part} {100 * value / whole:.0f} %" for part, value in largest if value > 0)
            mark = " " if abs(share) <= LIMIT else "!"
            print(f"{load:6} {name:18} {whole:7.2f} {unit:2} residual {share:6.1f} % {mark}  {said}", flush=True)
            if abs(share) > LIMIT:
                missed.append(name)
    finally:
        for other in others:
            other.kill()
            other.wait()
    print(f"{load}: {n - len(missed)} of {n} within {LIMIT:.0f} %" + (f"; not: {', '.join(missed)}" if missed else ""))
    return not missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fenxi", default="fenxi", help="the program")
    parser.add_argument("--quick", action="store_true", help="commands of up to 5 s")
    parser.add_argument("--only", help="names, or parts of them, with commas between")
    parser.add_argument("--load", choices=["alone", "full", "both"], default="both")
    args = parser.parse_args()
    args.fenxi = shutil.which(args.fenxi) or os.path.abspath(args.fenxi)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        loads = ["alone", "full"] if args.load == "both" else [args.load]
        well = [measure(args, folder, server.server_port, load) for load in loads]
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
