#!/usr/bin/env python3
"""Ordinary work without a fault: what does Fenxi warn of, and is it true?

Records usual programs and loads at a moderate rate, one after the other, and lists all findings that are no information. Whether such
a warning is true is for the reader of the page to judge: a full machine is reported as full.
Then loads whose capacity is measured first, and which are run at 30, 70 and 100 % of it: whatever is warned of there is false, but that a load
which is meant to fill the machine fills it. Statements must not contradict each other (contradictions.py).
Settings: BENCH_LOADS (all, or names with commas; `designed` for the second kind), BENCH_SECONDS (10), BENCH_PORT (17432).
"""

import contextlib
import json
import re
import shutil
import subprocess
import sys

import contradictions
import pools
import programs
import servers
from common import FENXI, environment, fresh, json_lines, measure, need, output, report, setting

CHOSEN = setting("BENCH_LOADS", "")
SECONDS = setting("BENCH_SECONDS", 10)
PORT = setting("BENCH_PORT", 17432)
FACTS = ("information", "measurement")


def shell(text):
    return lambda folder: ["bash", "-c", text.replace("FOLDER", str(folder)).replace("SECONDS", str(SECONDS))]


def again(text):
    """A step over and over until the time is up."""
    return lambda folder: programs.shell(text.replace("FOLDER", str(folder)), seconds=SECONDS)


def python(text):
    return lambda folder: programs.python(text, seconds=SECONDS)


# What each program works on lies in FOLDER.
PREPARE = """
cd FOLDER && mkdir -p many code && seq 1 6000000 > numbers && for n in $(seq 1 400); do head -c 40000 numbers > many/$n; done
for n in $(seq 1 16); do { echo '#include <stdio.h>'; for i in $(seq 1 80); do echo "int f${n}_$i(int a) { int s = a; for (int i = 0; i < $i; i++) s = s * 31 + i; printf(\\"%d\\", s); return s; }"; done; } > code/$n.c; done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\\n%%.o: %%.c\\n\\tcc -O2 -c $< -o $@\\n' > code/Makefile
"""
COUNT = """
import json, random
while time.monotonic() < end:
    rows = [{"id": n, "value": random.random(), "name": str(n) * 3} for n in range(20000)]
    json.loads(json.dumps(rows)); sorted(rows, key=lambda row: row["value"])
"""
ASYNC = """
import asyncio
async def serve(reader, writer):
    while line := await reader.readline(): writer.write(line); await writer.drain()
async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < end: writer.write(b"hello\\n"); await reader.readline(); await asyncio.sleep(0.01)
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    await asyncio.gather(*(ask(server.sockets[0].getsockname()[1]) for _ in range(20)))
asyncio.run(main())
"""
POOL = """
import multiprocessing
def work(n): return sum(i * i for i in range(20000 + n))
with multiprocessing.Pool(2) as pool:
    while time.monotonic() < end: pool.map(work, range(100))
"""
WEB = 'cd FOLDER/many && python3 -m http.server -b 127.0.0.1 17440 > /dev/null 2>&1 & server=$!; sleep 1; COMMAND; kill $server; wait'
LOADS = {
    "no command": None,
    "sleep": shell("sleep SECONDS"),
    "gzip": again("gzip -c FOLDER/numbers > FOLDER/out.gz"),
    "xz with two threads": again("xz -1 -T2 -c FOLDER/numbers > FOLDER/out.xz"),
    "build": again("make -s -C FOLDER/code -j2; rm FOLDER/code/*.o"),
    "sort": again("sort -R -S 50M --parallel=2 FOLDER/numbers -o FOLDER/out"),
    "copy of many files": again("rm -rf FOLDER/copy; cp -r FOLDER/many FOLDER/copy"),
    "copy of a large file": again("cp FOLDER/numbers FOLDER/copied; sync FOLDER/copied; sleep 0.3"),
    "tar and gzip": again("tar c -C FOLDER many | gzip -1 > FOLDER/out.tgz"),
    "grep": again("grep -c 77 FOLDER/numbers > /dev/null"),
    "Python JSON": python(COUNT),
    "Python asyncio": python(ASYNC),
    "Python pool": python(POOL),
    "web server with ab": shell(WEB.replace("COMMAND", "ab -q -t SECONDS -n 1000000 -c 4 http://127.0.0.1:17440/1 > /dev/null")),
    "web server with pauses": shell(WEB.replace("COMMAND", "for n in $(seq 1 $((SECONDS * 5))); do curl -s http://127.0.0.1:17440/$n > /dev/null; sleep 0.1; done")),
    "node": lambda folder: ["node", "-e", f"const end = Date.now() + {SECONDS}000; while (Date.now() < end) JSON.parse(JSON.stringify(Array.from({{length: 50000}}, (_, n) => ({{n}}))))"],
    "fio at 20 MB/s": shell("fio --name=r --filename=FOLDER/fio --size=200M --rw=randread --bs=64k --rate=20m --time_based --runtime=SECONDS > /dev/null; rm FOLDER/fio"),
    "redis": shell("redis-server --port 17441 --save '' > /dev/null & sleep 1; redis-benchmark -p 17441 -c 10 -n 200000 -q > /dev/null; kill %1; wait"),
}
PGBENCH = ["-n", "-h", "127.0.0.1", "-p", PORT, "-U", "postgres", "-T", SECONDS]
SYSBENCH = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={PORT}", "--mysql-user=root", "--mysql-db=test", "--tables=2", "--table-size=20000", "oltp_read_write"]
DATABASES = {
    "pgbench at 200/s": (servers.postgres, ["pgbench", *PGBENCH, "-c", "4", "-R", "200", "postgres"]),
    "pgbench reads": (servers.postgres, ["pgbench", *PGBENCH, "-c", "2", "-S", "postgres"]),
    "pgbench full": (servers.postgres, ["pgbench", *PGBENCH, "-c", "4", "postgres"]),
    "sysbench at 50/s": (servers.mariadb, ["sysbench", *SYSBENCH, "--threads=4", "--rate=50", f"--time={SECONDS}", "run"]),
    "sysbench full": (servers.mariadb, ["sysbench", *SYSBENCH, "--threads=4", f"--time={SECONDS}", "run"]),
    "load on PostgreSQL": (servers.postgres, None),
    "load on MariaDB": (servers.mariadb, None),
}


# Loads of a designed part of what the machine can do: servers under the project's own load, and programs that take jobs from a schedule. Writes have more
# branches than connections, so that no row is hot.
WORKLOADS = {
    "PostgreSQL reads": (servers.postgres, ["oltp_point_select"], 4),
    "PostgreSQL reads and writes": (servers.postgres, ["tpcb_like", "--set", "scale=8"], 4),
    "MariaDB reads": (servers.mariadb, ["oltp_point_select"], 4),
    "MariaDB reads and writes": (servers.mariadb, ["oltp_read_write"], 4),
}
# Workers of a pool take jobs that come evenly, `rate` a second; with none, one after the other. The number of jobs each second is printed at the end.
JOBS = """
import asyncio, hashlib, http.client, json, multiprocessing, os, shutil, subprocess, sys, threading, zlib
kind, rate, folder, workers = sys.argv[1], float(sys.argv[2]), sys.argv[3], 2
text = b"some text of a request" * 400
def serve(port):
    async def answer(reader, writer):
        while await reader.readuntil(b"\\r\\n\\r\\n"):
            body = json.dumps([{"id": n, "name": str(n)} for n in range(50)]).encode()
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    async def main():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()
    asyncio.run(main())
port, connection = multiprocessing.Queue(), None
if kind == "requests":
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    port = port.get()
def numbers(): return sum(i * i for i in range(60000))
def texts(): return json.loads(json.dumps([{"id": n, "name": str(n)} for n in range(2500)]))
def packing(): return zlib.compress(text * 8, 6)
def hashing(): return hashlib.pbkdf2_hmac("sha256", text, b"salt", 5000)
def compiling(): subprocess.run(["cc", "-O2", "-c", f"{folder}/code/1.c", "-o", f"{folder}/{os.getpid()}.o"])
def copies(): shutil.copyfile(f"{folder}/numbers", f"{folder}/{os.getpid()}.copy")
def requests():
    global connection
    connection = connection or http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    return connection.getresponse().read()
job = globals()[kind]
def work(inbox):
    while inbox.get(): job()
inbox = multiprocessing.Queue(8)
pool = [multiprocessing.Process(target=work, args=(inbox,)) for _ in range(workers)]
for one in pool: one.start()
began, done, pace = time.monotonic(), 0, threading.Event()
while time.monotonic() < end:
    if rate:
        pace.wait(max(0, began + done / rate - time.monotonic()))
    inbox.put(1)
    done += 1
for one in pool: inbox.put(0)
for one in pool: one.join()
print(done / (time.monotonic() - began))
"""
KINDS = ["numbers", "texts", "packing", "hashing", "compiling", "copies", "requests"]
FIO = ["fio", "--name=reads", "--size=400M", "--rw=randread", "--bs=16k", "--direct=1", "--ioengine=psync", "--numjobs=2", "--group_reporting", "--time_based"]
DESIGNED = [*WORKLOADS, *KINDS, *pools.POOLS, "fio", "pgbench"]
SHARES = (100, 70, 30)
# What may be reported for a load that fills the machine, or its disk: that it does.
FULL = {"cpu-pressure", "cpu-queue", "cpu-full", "db-run-queue", "db-cpu-bound", "one-cpu-saturated", "one-thread-saturated", "load-driver-saturated",
        "disk-saturated", "disk-queue", "io-pressure", "programs-wait-disk"}
# From this use of its CPUs on, percent, a machine is full, whatever a load was meant to do: the speed of a virtual one changes from second to second.
BUSY = 85


def designed(store, folder, name):
    """Runs of a load at parts of its capacity, which the first one shows: their names."""
    how = of_workload if name in WORKLOADS else {"fio": of_fio, "pgbench": of_pgbench}.get(name, of_jobs)
    capacity = None
    with how(store, folder, name) as run:
        for share in SHARES:
            done = run(f"{name} {share}", capacity * share / 100 if capacity else None)
            capacity = capacity or done
    return [f"{name} {share}" for share in SHARES]


@contextlib.contextmanager
def of_workload(store, _, name):
    make, workload, connections = WORKLOADS[name]
    with server_of(make, False) as server:
        measure(fenxi(store, "load", "prepare", server.url, "-w", *workload))
        words = fenxi(store, "load", "run", server.url, "-w", *workload, "-c", str(connections), "--warmup", "1s", "--quiet", "--record", "--for", f"{SECONDS}s")

        def run(run_name, rate):
            measure([*words, *(["--rate", str(max(1, round(rate)))] if rate else []), "--name", run_name])
            return json_lines(fenxi(store, "sql", "-r", run_name, "-f", "json", "SELECT value FROM result WHERE name = 'throughput'"))[0]["value"]

        yield run


def recorded(store, run_name, words):
    """What a command prints while it is recorded."""
    return output(fenxi(store, "record", "--name", run_name, "--quiet", *words))


@contextlib.contextmanager
def of_jobs(store, folder, name):
    of_kind = lambda rate: programs.python(JOBS, name, str(rate or 0), str(folder), seconds=SECONDS)
    words = of_kind if name in KINDS else lambda rate: pools.words(name, rate, SECONDS)
    yield lambda run_name, rate: float(recorded(store, run_name, ["--", *words(rate)]))


@contextlib.contextmanager
def of_fio(store, folder, _):
    words = ["--", *FIO, f"--directory={folder}", f"--runtime={SECONDS}", "--output-format=json"]

    def run(run_name, rate):
        told = json.loads(recorded(store, run_name, [*words, *([f"--rate_iops={round(rate / 2)}"] if rate else [])]))
        return sum(job["read"]["iops"] for job in told["jobs"])

    yield run


@contextlib.contextmanager
def of_pgbench(store, *_):
    with server_of(servers.postgres, True) as server:
        words = ["--db", server.url, "--", "pgbench", *PGBENCH, "-c", "4"]

        def run(run_name, rate):
            told = recorded(store, run_name, [*words, *(["-R", str(max(1, round(rate)))] if rate else []), "postgres"])
            return float(re.search(r"tps = ([\d.]+)", told)[1])

        yield run


def fenxi(store, *words):
    return [FENXI, "--store", store, *words]


@contextlib.contextmanager
def server_of(make, is_filled):
    server = make(PORT)
    try:
        if is_filled and make is servers.postgres:
            measure(["pgbench", "-i", "-q", "-s", "5", *PGBENCH[1:7], "postgres"])
        elif is_filled:
            measure(["sysbench", *SYSBENCH, "prepare"])
        yield server
    finally:
        server.stop()


# Programs without which a load is left out.
PROGRAMS = {"web server with ab": "ab", "redis": "redis-server", "sysbench at 50/s": "sysbench", "sysbench full": "sysbench", "node": "node", "fio": "fio",
            "fio at 20 MB/s": "fio", "pgbench": "pgbench", "compiling": "cc", "build": "make", "C pool": "cc", "Java pool": "javac", "Go pool": "go", "libuv pool": "node"}


def is_possible(name):
    program = PROGRAMS.get(name)
    is_there = program is None or shutil.which(program) is not None
    if not is_there:
        print(f"bench: LEFT OUT {name}: there is no {program}", file=sys.stderr)
    return is_there


def record(store, folder, name):
    """One run of a load, by its name."""
    if name in DATABASES:
        make, words = DATABASES[name]
        with server_of(make, bool(words)) as server:
            if words:
                measure(fenxi(store, "record", "--name", name, "--quiet", "--db", server.url, "--", *words))
            else:
                measure(fenxi(store, "load", "prepare", server.url, "-w", "tpcb_like"))
                measure(fenxi(store, "load", "run", server.url, "-w", "tpcb_like", "-c", "4", "--rate", "100", "--for", f"{SECONDS}s", "--warmup", "1s", "--record",
                              "--name", name, "--quiet"))
    elif LOADS[name] is None:
        measure(fenxi(store, "record", "--name", name, "--quiet", "--for", f"{SECONDS}s"))
    else:
        # The status is the command's, which a server that was killed may have.
        subprocess.run([str(word) for word in fenxi(store, "record", "--name", name, "--quiet", "--", *LOADS[name](folder))], env=environment(), check=False,
                       stdout=subprocess.DEVNULL)


def busy(store, name):
    """The mean use of the CPUs of a run, percent."""
    return json_lines(fenxi(store, "sql", "-r", name, "-f", "json", "SELECT busy FROM cpu_mean"))[0]["busy"]


def main():
    need(FENXI, "run `make build`")
    folder, store = fresh("healthy-work"), fresh("healthy")
    measure(shell(PREPARE)(folder))
    names = CHOSEN.split(",") if CHOSEN else [*LOADS, *DATABASES, "designed"]
    rows, warned, false, disagreements = [], 0, 0, []
    parts = DESIGNED if "designed" in names else [name for name in names if name in DESIGNED]
    runs = [name for name in names if name in LOADS or name in DATABASES]
    runs, parts = ([name for name in some if is_possible(name)] for some in (runs, parts))
    for name in runs:
        record(store, folder, name)
    by_design = [run for name in parts for run in designed(store, folder, name)]
    for name in [*runs, *by_design]:
        found = json_lines(fenxi(store, "findings", name, "--json"))
        reported = [line for line in found if line.get("kind") not in FACTS]
        warned += bool(reported)
        is_full = name.endswith(" 100") or reported and busy(store, name) >= BUSY
        false += name in by_design and any(line["finding"] not in (FULL if is_full else ()) for line in reported)
        disagreements += [f"{name}: {what}" for what in contradictions.of(lambda *words: json_lines(fenxi(store, *words)), name)]
        for line in reported or [{}]:
            rows.append([name, line.get("finding", "-"), line.get("severity", "-"), line.get("message", "-")])
            print("bench:", " | ".join(rows[-1]), file=sys.stderr)
    report("healthy" if runs else "healthy-designed", "Ordinary work", ["load", "finding", "severity", "sentence"], rows,
           [f"{len(runs) + len(by_design)} runs of {SECONDS} s, {warned} with a warning.",
            f"Of {len(by_design)} at {', '.join(map(str, SHARES))} % of their capacity, {false} with a warning that is not about the machine that they fill."])
    for line in disagreements:
        print(f"bench: CONTRADICTION in {line}", file=sys.stderr)
    sys.exit(1 if disagreements else 0)


if __name__ == "__main__":
    main()
