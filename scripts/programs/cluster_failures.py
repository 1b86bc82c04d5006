#!/usr/bin/env python3
"""What goes wrong with a cluster, on purpose: cluster_failures.py FENXI STORE SPARK_HOME [PART …]

  executor    an executor of two is killed with -9 in the middle of 20 of 40 questions
  connection  a proxy cuts the connection 20 times, at once or within an answer of many batches
  restart     the server is killed with -9 in the middle of an answer, and started again
  secure      TLS with a certificate of its own, the wrong one, none; a token that is right, wrong, not there

Each answer must be the one of this machine, or an error and nothing of an answer. Needs Java 17, Spark, openssl.
"""

import json
import math
import os
import pathlib
import random
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

FENXI, STORE, SPARK = sys.argv[1:4]
PARTS = sys.argv[4:] or ["executor", "connection", "restart", "secure"]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="fenxi-cluster-"))
CHANCE = random.Random(20)
PATIENCE = 600
# All rows of the store, in many batches.
ROWS = "SELECT run, t, cpu, usr, sys, idle FROM cpu"
counts = {}


class Server:
    """Spark Connect with executors that are processes of their own."""

    def __init__(self, port, *settings, master="local-cluster[2,1,768]"):
        self.port, self.master = port, master
        self.settings = ["spark.deploy.maxExecutorRetries=-1", "spark.ui.enabled=false", "spark.sql.shuffle.partitions=2",
                         "spark.task.maxFailures=8", f"spark.connect.grpc.binding.port={port}",
                         # Small batches: an answer has many.
                         "spark.connect.grpc.arrow.maxBatchSize=65536", *settings]
        self.start()

    def start(self):
        argv = ["nice", "-n", "19", f"{SPARK}/bin/spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
                "--master", self.master, "--driver-memory", "1536m", "--executor-memory", "768m"]
        for setting in self.settings:
            argv += ["--conf", setting]
        env = dict(os.environ, SPARK_HOME=SPARK, SPARK_NO_DAEMONIZE="1", SPARK_LOCAL_DIRS=str(WORK), SPARK_WORKER_DIR=str(WORK))
        self.log = open(WORK / f"server-{self.port}.log", "ab")
        self.process = subprocess.Popen([*argv, "spark-internal"], cwd=WORK, env=env, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit(f"the server ended: {(WORK / f'server-{self.port}.log').read_text()[-2000:]}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.3)
        sys.exit("the server does not listen")

    def processes(self, word):
        """Those it started whose command line has `word`."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.getsid(int(entry.name)) == self.process.pid:
                    if word in (entry / "cmdline").read_text():
                        found.append(int(entry.name))
            except (OSError, UnicodeDecodeError):
                pass
        return found

    def kill(self):
        for pid in self.processes("java"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


class Proxy:
    """Carries connections to a port, and cuts them: after so many bytes of the server, or when told to."""

    def __init__(self, port, context=None):
        self.port, self.context, self.limit, self.cuts, self.open = port, context, None, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            if self.context:
                client = self.context.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            client.close()
            return
        self.open.append((client, server))
        threading.Thread(target=self.carry, args=(client, server, False), daemon=True).start()
        self.carry(server, client, True)

    def carry(self, source, sink, is_answer):
        try:
            while data := source.recv(16384):
                if is_answer and self.limit is not None:
                    self.limit -= len(data)
                    if self.limit < 0:
                        self.limit = None
                        sink.sendall(data[: len(data) // 2])
                        self.cut()
                        return
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()

    def cut(self):
        """Resets all connections."""
        pairs, self.open = self.open, []
        for pair in pairs:
            for end in pair:
                try:
                    # An end at once, without a word.
                    if not self.context:
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
                    end.shutdown(socket.SHUT_RDWR)
                    end.close()
                except OSError:
                    pass
            self.cuts += 1


def begin(words, engine=None):
    argv = [FENXI, "--store", STORE, *words] + (["--engine", engine] if engine else [])
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    """Rows of its answer, or None and what it said."""
    out, err = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        assert err.startswith("error: "), f"status {process.returncode} without a reason: {err!r}"
        return None, err.strip()
    return sorted((json.loads(line) for line in out.splitlines()), key=lambda row: json.dumps(rough(row), sort_keys=True)), ""


def rough(value):
    if isinstance(value, dict):
        return {key: rough(of) for key, of in value.items()}
    return f"{value:.6e}" if isinstance(value, float) else value


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def judge(what, here, process):
    """Counts whether an answer is right or an error; anything else ends all."""
    there, error = ended(process)
    if there is None:
        outcome = "an error"
        print(f"  {what}: {error.splitlines()[0]}")
    else:
        assert same(here, there), f"{what}: {len(there)} rows are not the {len(here)} rows of this machine"
        outcome = "right"
    counts[outcome] = counts.get(outcome, 0) + 1
    return outcome


def total(part):
    print(f"{part}: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())), flush=True)
    counts.clear()


def questions(n):
    """Shipped questions that this store has answers to, with these answers; again and again until there are `n`."""
    found = []
    for name in sorted(path.stem for path in (pathlib.Path(__file__).parents[2] / "questions").rglob("*.sql")):
        words = ["ask", name, "-o", "json", *(word for i in range(1, 9) for word in ("-r", f"@{i}"))]
        rows, _ = ended(begin(words))
        if rows:
            found.append((name, words, rows))
    assert found, "the store has no answers"
    return [found[i % len(found)] for i in range(n)]


def executor():
    server = Server(15093)
    try:
        engine = f"sc://127.0.0.1:{server.port}"
        asked = questions(40)
        began = time.monotonic()
        ended(begin(asked[0][1], engine))
        took = time.monotonic() - began
        for i, (name, words, here) in enumerate(asked):
            began = time.monotonic()
            process = begin(words, engine)
            if i % 2:
                time.sleep(CHANCE.uniform(0, took))
                executors = server.processes("CoarseGrainedExecutorBackend")
                in_the_middle = process.poll() is None
                if executors:
                    os.kill(CHANCE.choice(executors), signal.SIGKILL)
                counts["killed within"] = counts.get("killed within", 0) + (in_the_middle and bool(executors))
            judge(name, here, process)
            if not i % 2:
                took = 0.5 * took + 0.5 * (time.monotonic() - began)
        total("executor")
    finally:
        server.kill()


def connection():
    server = Server(15094, master="local[2]")
    proxy = Proxy(server.port)
    try:
        engine = f"sc://127.0.0.1:{proxy.address}"
        here, _ = ended(begin(["sql", "-o", "json", ROWS]))
        began = time.monotonic()
        assert judge("uncut", here, begin(["sql", "-o", "json", ROWS], engine)) == "right"
        took = time.monotonic() - began
        for i in range(20):
            process = begin(["sql", "-o", "json", ROWS], engine)
            if i % 2:
                proxy.limit = CHANCE.randrange(2_000, 3_000_000)
            else:
                time.sleep(CHANCE.uniform(0, took))
                proxy.cut()
            judge(f"cut {i}", here, process)
            proxy.limit = None
        print(f"  {proxy.cuts} connections were cut")
        total("connection")
    finally:
        server.kill()


def restart():
    server = Server(15095, master="local[2]")
    proxy = Proxy(server.port)
    engine = f"sc://127.0.0.1:{proxy.address}"
    try:
        here, _ = ended(begin(["sql", "-o", "json", ROWS]))
        judge("before", here, begin(["sql", "-o", "json", ROWS], engine))
        for i in range(3):
            # Before anything came, and in the middle of what comes.
            proxy.limit = None if i == 0 else 500_000 * i
            process = begin(["sql", "-o", "json", ROWS], engine)
            if i == 0:
                time.sleep(0.5)
            else:
                while proxy.limit is not None and process.poll() is None:
                    time.sleep(0.01)
            server.kill()
            server.start()
            judge(f"restart {i}", here, process)
        assert judge("after", here, begin(["sql", "-o", "json", ROWS], engine)) == "right"
        total("restart")
    finally:
        server.kill()


def certificate(name):
    """A certificate for this host, signed by itself, and its key."""
    files = WORK / f"{name}.crt", WORK / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def secure():
    server = Server(15096, "spark.connect.authenticate.token=sesame", master="local[2]")
    try:
        (cert, key), (other, _) = certificate("server"), certificate("other")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        context.set_alpn_protocols(["h2"])
        proxy = Proxy(server.port, context)
        plain, sealed = f"sc://127.0.0.1:{server.port}/;", f"sc://localhost:{proxy.address}/;"
        sql = "SELECT run, count(*) AS n FROM cpu GROUP BY run"
        here, _ = ended(begin(["sql", "-o", "json", sql]))
        for what, engine, expected in [
            ("TLS and the token", f"{sealed}use_ssl=true;sslrootcert={cert};token=sesame", None),
            ("the token, plain, on this machine", f"{plain}token=sesame", None),
            ("a wrong token", f"{sealed}use_ssl=true;sslrootcert={cert};token=wrong", "refuses who asks"),
            ("no token", plain, "refuses who asks"),
            ("another authority", f"{sealed}use_ssl=true;sslrootcert={other};token=sesame", "sslrootcert=FILE"),
            ("the system's authorities", f"{sealed}use_ssl=true;token=sesame", "sslrootcert=FILE"),
            ("TLS where there is none", f"{plain}use_ssl=true;sslrootcert={cert}", "does not speak TLS"),
            ("none where there is TLS", f"{sealed}", "use_ssl=true"),
        ]:
            rows, error = ended(begin(["sql", "-o", "json", sql], engine))
            print(f"  {what}: {error or 'answered'}")
            right = same(here, rows) if expected is None else rows is None and expected in error
            assert right and "sesame" not in error, f"{what}: expected {expected or 'the answer'}"
            counts["right"] = counts.get("right", 0) + 1
        total("secure")
    finally:
        server.kill()


for part in PARTS:
    {"executor": executor, "connection": connection, "restart": restart, "secure": secure}[part]()
subprocess.run(["rm", "-rf", str(WORK)], check=True)
