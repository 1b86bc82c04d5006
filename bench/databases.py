#!/usr/bin/env python3
"""What recording a database costs: CPU of the server and of the recorder beside pgcenter and the Prometheus exporters, in
turns; throughput with and without `--db`; and the size of an hour.

Starts its own servers. Settings: BENCH_ROUNDS (3), BENCH_SECONDS (12), BENCH_PAIRS (6), BENCH_PAIR_SECONDS (5), BENCH_MINUTES
(3), BENCH_PARTS (costs,pairs,size), BENCH_PORT (18200), PGCENTER (a program of that name in PATH).
"""

import math
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
import urllib.request

from common import FENXI, environment, fresh, measure, need, output, report, setting, size_of, spread
from servers import mariadb, postgres

ROUNDS = setting("BENCH_ROUNDS", 3)
SECONDS = setting("BENCH_SECONDS", 12)
PAIRS = setting("BENCH_PAIRS", 6)
PAIR_SECONDS = setting("BENCH_PAIR_SECONDS", 5)
MINUTES = setting("BENCH_MINUTES", 3)
PARTS = setting("BENCH_PARTS", "costs,pairs,size").split(",")
PORT = setting("BENCH_PORT", 18200)
PGCENTER = os.environ.get("PGCENTER") or shutil.which("pgcenter")
IDLE, TABLES, SHAPES = 100, 1000, 5
STATEMENTS = 4800
# The first seconds are the start: connecting, texts, settings.
START = 4
# Student's t, two sides, 95 %, by degrees of freedom.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 7: 2.36, 9: 2.26, 11: 2.20, 14: 2.14, 19: 2.09, 29: 2.05, 39: 2.02}


def idle_postgres(port, count):
    """Connections of PostgreSQL that do nothing."""
    kept = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port))
        words = b"user\0postgres\0database\0postgres\0\0"
        connection.sendall(struct.pack("!II", len(words) + 8, 196608) + words)
        answer = b""
        while b"Z\0\0\0\5I" not in answer:
            answer += connection.recv(4096)
        kept.append(connection)
    return kept


def filled_postgres():
    """A PostgreSQL with as many sessions, relations and statements as the promise names."""
    options = ["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.max=10000", "track_io_timing=on",
               "max_locks_per_transaction=200", "autovacuum=off"]
    server = postgres(PORT, 200, options)
    server.sql("CREATE EXTENSION pg_stat_statements")
    # A table, its primary key, its TOAST table and that one's index.
    for begin in range(1, TABLES + 1, 100):
        server.sql(f"DO $$ BEGIN FOR i IN {begin}..{begin + 99} LOOP EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, "
                   "n int, note text)', i); END LOOP; END $$")
    shapes = ["SELECT count(*) FROM t{}", "SELECT n FROM t{} WHERE id = 1", "SELECT max(n) FROM t{} WHERE id > 5",
              "UPDATE t{} SET n = n + 1 WHERE id = 1", "INSERT INTO t{} VALUES (1, 1, 'x') ON CONFLICT DO NOTHING"]
    every = [shape.format(i) for i in range(1, TABLES + 1) for shape in shapes][:STATEMENTS]
    script = server.folder / "statements.sql"
    script.write_text(";\n".join(every) + ";\n")
    subprocess.run([str(word) for word in server.client[:-1]] + ["-f", str(script)], check=True, stdout=subprocess.DEVNULL)
    server.kept = idle_postgres(PORT, IDLE)
    return server


def filled_mariadb():
    server = mariadb(PORT + 1, 200, ["--performance-schema=ON"])
    script = ";".join(f"CREATE TABLE t{i} (id int PRIMARY KEY, n int)" for i in range(100))
    server.sql(script)
    server.sql(";".join(f"SELECT n FROM t{i} WHERE id = {j}" for i in range(100) for j in range(5)))
    return server


def tasks_below(pid):
    """A process, its children, and all threads of them: nanoseconds on a CPU, by thread."""
    found, todo = {}, [pid]
    while todo:
        one = todo.pop()
        try:
            for tid in os.listdir(f"/proc/{one}/task"):
                found[int(tid)] = int(open(f"/proc/{one}/task/{tid}/schedstat").read().split()[0])
                todo += [int(c) for c in open(f"/proc/{one}/task/{tid}/children").read().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class Clock:
    """CPU time of a process and what is below it while something lasts; looks often, as sessions come and go."""

    def __init__(self, pid):
        self.pid, self.base, self.seen = pid, tasks_below(pid), {}

    def look(self):
        self.seen.update(tasks_below(self.pid))

    def spent_s(self):
        self.look()
        return sum(ns - self.base.get(tid, 0) for tid, ns in self.seen.items()) / 1e9


def scraping(url):
    """Asks an exporter once; the number of its series."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return sum(1 for line in answer.read().splitlines() if line and not line.startswith(b"#"))


def subjects(server):
    """Names, words and environments of what observes a server; an exporter has an address that is asked every second."""
    folder = fresh("databases")
    record = [FENXI, "--store", folder / "store", "--quiet", "record", "--source", "mem", "--for", "600s"]
    kinds = [("fenxi, 10 samples/s", [*record, "--db", server.url], {}, None),
             ("fenxi, 100 samples/s", [*record, "--db", server.url, "--db-rate", "100"], {}, None),
             ("fenxi without --db", record, {}, None)]
    skipped = []
    address = f"127.0.0.1:{PORT + 10}"
    if server.name == "PostgreSQL":
        if PGCENTER:
            words = [PGCENTER, "record", "-h", "127.0.0.1", "-p", PORT, "-U", "postgres", "-d", "postgres", "-i", "1s",
                     "-f", folder / "pgcenter.tar"]
            kinds.append(("pgcenter record, 1 s", words, {}, None))
        else:
            skipped.append("pgcenter was skipped: it is no package of Debian, and PGCENTER names no program")
        name, source = "prometheus-postgres-exporter", f"postgresql://postgres@127.0.0.1:{PORT}/postgres?sslmode=disable"
    else:
        name, source = "prometheus-mysqld-exporter", f"root@(127.0.0.1:{server.port})/"
    if shutil.which(name):
        words = [name, f"--web.listen-address={address}"]
        kinds.append((f"{name}, scraped each 1 s", words, {"DATA_SOURCE_NAME": source}, f"http://{address}/metrics"))
    else:
        skipped.append(f"{name} was skipped: Debian's package is not installed")
    return kinds, skipped


def turn(server, words, env, url):
    """Milliseconds of CPU a second: the server's and the observer's own, without the start of either."""
    log = open(server.folder / "observer.log", "w")
    process = subprocess.Popen([str(word) for word in words], env=dict(environment(), **env), stdout=log, stderr=log)
    try:
        until = time.monotonic() + START
        while url and time.monotonic() < until:
            try:
                scraping(url)
                break
            except OSError:
                time.sleep(0.2)
        time.sleep(max(0, until - time.monotonic()))
        clocks = Clock(server.process.pid), Clock(process.pid)
        began = time.monotonic()
        while time.monotonic() - began < SECONDS:
            if url:
                scraping(url)
            for _ in range(4):
                time.sleep(0.2)
                for clock in clocks:
                    clock.look()
            time.sleep(max(0, 1 - (time.monotonic() - began) % 1))
        took = time.monotonic() - began
        if process.poll() is not None:
            sys.exit(f"bench: {words[0]} ended\n{(server.folder / 'observer.log').read_text()}")
        return [clock.spent_s() / took * 1e3 for clock in clocks]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        log.close()


def costs(server):
    """Rows of all observers of a server."""
    kinds, notes = subjects(server)
    kinds.append(("nobody", ["sleep", "600"], {}, None))
    found = {name: [] for name, *_ in kinds}
    for number in range(ROUNDS):
        for name, words, env, url in kinds[number % len(kinds):] + kinds[:number % len(kinds)]:
            found[name].append(turn(server, words, env, url))
    # What an idle server does by itself is no one's cost.
    idle = statistics.median(ms for ms, _ in found["nobody"])
    ours = statistics.median(ms - idle for ms, _ in found["fenxi, 10 samples/s"])
    rows = []
    for name, figures in found.items():
        if name == "nobody":
            continue
        servers, own = [ms - idle for ms, _ in figures], [ms for _, ms in figures]
        ratio = f"{statistics.median(servers) / ours:.2f}" if name != "fenxi without --db" else "-"
        print(server.name, name, servers, own, file=sys.stderr)
        rows.append([server.name, name, spread(servers, digits=2), ratio, spread(own, digits=2)])
    notes.append(f"{server.name} by itself: {idle:.2f} ms/s, which is subtracted.")
    return rows, notes


def pgbench(server, words, observed):
    """Transactions a second of pgbench, recorded with or without the database."""
    folder = fresh("databases-pairs")
    db = ["--db", server.url] if observed else []
    program = pathlib.Path(server.client[0]).with_name("pgbench")
    argv = [FENXI, "--store", folder, "--quiet", "record", "--source", "mem", *db, "--", program, "-n", "-h", "127.0.0.1", "-p", PORT,
            "-U", "postgres", "-T", PAIR_SECONDS, *words, "postgres"]
    return float(re.search(r"tps = ([\d.]+)", output(argv, stderr=subprocess.STDOUT))[1])


def pairs(server):
    """The change of throughput by observing, with its interval."""
    program = pathlib.Path(server.client[0]).with_name("pgbench")
    measure([program, "-i", "-q", "-s", "20", "-h", "127.0.0.1", "-p", PORT, "-U", "postgres", "postgres"])
    rows = []
    for name, words in (("pgbench -S", ["-S", "-c", "8", "-j", "2"]), ("pgbench, TPC-B", ["-c", "8", "-j", "2"])):
        pgbench(server, words, True)
        changes, without = [], []
        for number in range(PAIRS):
            order = (True, False) if number % 2 else (False, True)
            tps = {observed: pgbench(server, words, observed) for observed in order}
            changes.append(math.log(tps[True] / tps[False]))
            without.append(tps[False])
        middle = statistics.mean(changes)
        half = T95.get(PAIRS - 1, 2.0) * statistics.stdev(changes) / math.sqrt(PAIRS)
        low, high = (100 * (math.exp(middle + side * half) - 1) for side in (-1, 1))
        print(name, changes, file=sys.stderr)
        verdict = "cannot be told apart" if low <= 0 <= high else "differ"
        rows.append([name, f"throughput with --db at 10 samples/s, {PAIRS} pairs of {PAIR_SECONDS} s",
                     f"{100 * (math.exp(middle) - 1):+.2f} % ({low:+.2f} to {high:+.2f} %)", verdict,
                     f"{statistics.median(without):.0f} tps"])
    return rows


def size(server):
    """Bytes of an hour with 20 active sessions, from two lengths."""
    program = pathlib.Path(server.client[0]).with_name("pgbench")
    measure([program, "-i", "-q", "-s", "20", "-h", "127.0.0.1", "-p", PORT, "-U", "postgres", "postgres"])
    sizes, active = [], 0
    for minutes in (1, MINUTES):
        folder = fresh(f"databases-size-{minutes}")
        output([FENXI, "--store", folder, "--quiet", "record", "--source", "mem", "--db", server.url, "--", program, "-n", "-h",
                "127.0.0.1", "-p", PORT, "-U", "postgres", "-T", 60 * minutes, "-c", 20, "-j", 2, "postgres"],
               stderr=subprocess.DEVNULL)
        sizes.append(sum(size_of(path) for path in (folder / "runs").rglob("db*.parquet")))
        sql = "SELECT avg(active_sampled) FROM db WHERE database IS NULL"
        active = float(output([FENXI, "--store", folder, "sql", "-f", "csv", sql]).split()[-1])
    per_minute = (sizes[1] - sizes[0]) / (MINUTES - 1)
    hour = sizes[0] + 59 * per_minute
    return [["PostgreSQL", f"an hour of 20 sessions ({active:.1f} active), 10 samples/s", f"{hour / 1e6:.1f} MB",
             "below 10 MB" if hour < 10e6 else "above 10 MB", f"{per_minute / 1e3:.0f} kB a minute"]]


def main():
    need(FENXI, "run `make build`")
    rows, notes = [], []
    if "costs" in PARTS:
        for start in (filled_postgres, filled_mariadb):
            server = start()
            try:
                found, remarks = costs(server)
                rows += found
                notes += remarks
            finally:
                server.stop()
    if "pairs" in PARTS or "size" in PARTS:
        server = postgres(PORT, 200, ["shared_preload_libraries=pg_stat_statements"])
        try:
            server.sql("CREATE EXTENSION pg_stat_statements")
            rows += pairs(server) if "pairs" in PARTS else []
            rows += size(server) if "size" in PARTS else []
        finally:
            server.stop()
    report("databases", "What recording a database costs",
           ["server or load", "what", "server CPU, ms/s; change; size", "times fenxi's; verdict", "own CPU, ms/s; throughput; rate"], rows,
           [f"PostgreSQL with {IDLE + 7} processes, {STATEMENTS:,} statements in pg_stat_statements and {4 * TABLES:,} relations; MariaDB "
            f"with 100 tables and the performance schema. {ROUNDS} rounds of {SECONDS} s, in turns, after {START} s for the start; "
            "median (min–max). Asked: at most 2 ms of the server's CPU a second on PostgreSQL at 10 samples/s.",
            "Own CPU of fenxi includes recording memory each second, which is the row without --db.", *notes,
            "Pairs alternate in order; the interval is Student's, 95 %, of the mean logarithm of ratios. Both sides are recorded, "
            "one without --db.",
            f"Size: Parquet files of the tables db* of sealed runs of 1 and {MINUTES} minutes; the hour is extrapolated: the first "
            "minute and 59 times what each further minute adds."])


if __name__ == "__main__":
    main()
