#!/usr/bin/env python3
"""What a transaction costs the client, how many there are, and how fast tables are loaded, beside sysbench and pgbench;
and what a connection costs where there are thousands.

Starts its own servers; each measurement goes round the clients in turn, on the same server and tables.
Settings: BENCH_SECONDS (4), BENCH_ROUNDS (5), BENCH_ROWS (200000), BENCH_CLIENTS (16,64), BENCH_LOAD_ROWS (1000000),
BENCH_LOAD_ROUNDS (2), BENCH_MANY (10000), BENCH_PORT (16432).
"""

import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time

import servers
from common import FENXI, Process, environment, measure, need, report, setting, spread

SECONDS = setting("BENCH_SECONDS", 4)
ROUNDS = setting("BENCH_ROUNDS", 5)
ROWS = setting("BENCH_ROWS", 200000)
CLIENTS = [int(n) for n in setting("BENCH_CLIENTS", "16,64").split(",")]
LOAD_ROWS = setting("BENCH_LOAD_ROWS", 1000000)
LOAD_ROUNDS = setting("BENCH_LOAD_ROUNDS", 2)
MANY = setting("BENCH_MANY", 10000)
PORT = setting("BENCH_PORT", 16432)
# Connections to PostgreSQL, where each is a process.
MANY_PROCESSES = min(MANY, 1000)


def postgres():
    return servers.postgres(PORT, MANY_PROCESSES + 100)


def mariadb(handling="one-thread-per-connection"):
    return servers.mariadb(PORT + 1, MANY + 100, ["--thread-handling=" + handling])


def sysbench(server, what, *more, rows=ROWS):
    """The words of sysbench."""
    if server.name == "PostgreSQL":
        place = ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={server.port}",
                 f"--pgsql-user={server.user}", f"--pgsql-db={server.database}"]
    else:
        place = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}",
                 f"--mysql-user={server.user}", f"--mysql-db={server.database}"]
    return ["sysbench", "oltp_point_select", *place, f"--table-size={rows}", *more, what]


def fenxi(server, what, *more, workload="oltp_point_select", rows=ROWS):
    size = [] if workload == "select_only" else ["--set", f"table_size={rows}"]
    return [FENXI, "--quiet", "load", what, server.url, "-w", workload, *size, *more]


def client(argv, pattern):
    """Runs a client; gives microseconds of its CPU time for a transaction, and transactions per second."""
    process = Process(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = process.process.stdout.read().decode()
    done = process.wait()
    found = re.search(pattern, text)
    if done.status != 0 or not found:
        sys.exit(f"bench: {' '.join(done.argv)}: status {done.status}\n{text}")
    return done.cpu_s * 1e6 / int(found[1]), int(found[1]) / SECONDS


def in_turn(rounds, subjects):
    """What each subject (a name and a function) gives in each round; each round begins with another one."""
    found = {name: [] for name in subjects}
    for turn in range(rounds):
        names = list(subjects)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            found[name].append(subjects[name]())
    return found


def beside(what, ours, theirs, wanted, digits):
    """A row: two clients' figures, and the median of their ratios, round by round."""
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    return [what, spread(ours, digits=digits), spread(theirs, digits=digits), f"{ratio:.2f}", wanted]


def selects(server, clients):
    """Rows: CPU and throughput beside each client that knows the server."""
    ours = ["-c", clients, "--for", f"{SECONDS}s"]
    threads = max(1, min(os.cpu_count(), clients // 8))
    argv = {
        ("fenxi", "sysbench"): (fenxi(server, "run", *ours), r"transactions: +(\d+)"),
        ("sysbench", "sysbench"): (sysbench(server, "run", f"--threads={clients}", f"--time={SECONDS}"),
                                   r"transactions: +(\d+)"),
    }
    if server.name == "PostgreSQL":
        argv["fenxi", "pgbench"] = fenxi(server, "run", *ours, workload="select_only"), r"transactions: +(\d+)"
        argv["pgbench", "pgbench"] = (["pgbench", "-S", "-n", "-M", "prepared", "-h", "127.0.0.1", "-p", server.port, "-U",
                                       server.user, "-c", clients, "-j", threads, "-T", SECONDS, server.database],
                                      r"actually processed: (\d+)")
    found = in_turn(ROUNDS, {name: lambda words=words: client(*words) for name, words in argv.items()})
    rows = []
    for peer, cheaper in (("sysbench", "≤ 0.75"), ("pgbench", "≤ 1.00")):
        if ("fenxi", peer) in found:
            pair = found["fenxi", peer], found[peer, peer]
            what = f"{server.name}, {clients} connections, beside {peer}: "
            rows.append(beside(what + "client CPU, µs per transaction", *([f[0] for f in p] for p in pair), cheaper, 2))
            rows.append(beside(what + "transactions/s", *([f[1] for f in p] for p in pair), "≥ 1.00", 0))
    return rows


def loading(server, wanted):
    """A row: rows per second of loading a table with its indexes, ours and sysbench's."""
    def load(words):
        began = time.perf_counter()
        measure(words("prepare"))
        seconds = time.perf_counter() - began
        measure(words("cleanup"))
        return LOAD_ROWS / seconds

    found = in_turn(LOAD_ROUNDS, {
        "fenxi": lambda: load(lambda what: fenxi(server, what, rows=LOAD_ROWS)),
        "sysbench": lambda: load(lambda what: sysbench(server, what, rows=LOAD_ROWS)),
    })
    return beside(f"{server.name}: loading {LOAD_ROWS} rows, rows/s", found["fenxi"], found["sysbench"], wanted, 0)


def memory(server, connections):
    """Bytes that the driver has while each of its connections is used, and how many there are."""
    words = fenxi(server, "run", "-c", connections, "--threads", 2, "--rate", 2000, "--for",
                  f"{max(SECONDS, 2 * connections // 2000)}s")
    process = subprocess.Popen([str(word) for word in words], env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    most, files = 0, 0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            files = max(files, len(os.listdir(f"/proc/{process.pid}/fd")))
            most = max([most] + [1024 * int(n) for n in re.findall(r"VmRSS:\s+(\d+)", status)])
        except OSError:
            pass
        time.sleep(0.1)
    text = process.stdout.read().decode()
    if process.returncode != 0 or not re.search(r"failed transactions: +0 ", text):
        sys.exit(f"bench: {connections} connections to {server.name}: status {process.returncode}\n{text}")
    return most, files


def crowd(server, connections):
    """A row: memory of the driver for each connection, from few to many of them."""
    few, _ = memory(server, 100)
    many, files = memory(server, connections)
    if files < connections:
        sys.exit(f"bench: {files} of {connections} connections to {server.name} were seen")
    each = (many - few) / (connections - 100) / 1024
    return [f"{server.name}, {connections} connections in use: KiB of the driver for each", f"{each:.2f}", "", "", "≤ 8"]


def main():
    need(FENXI, "run `make build`")
    need("sysbench", "it is Debian's `sysbench`")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = []
    for start, wanted in ((postgres, "≥ 3.00"), (mariadb, "≥ 1.70")):
        server = start()
        try:
            rows.append(loading(server, wanted))
            measure(fenxi(server, "prepare"))
            if server.name == "PostgreSQL":
                measure(fenxi(server, "prepare", workload="select_only"))
            for clients in CLIENTS:
                rows += selects(server, clients)
            if server.name == "PostgreSQL":
                rows.append(crowd(server, MANY_PROCESSES))
        finally:
            server.stop()
    server = mariadb("pool-of-threads")
    try:
        measure(fenxi(server, "prepare"))
        rows.append(crowd(server, MANY))
    finally:
        server.stop()
    report("load", "Loading databases", ["what", "fenxi", "peer", "ratio", "wanted"], rows,
           [f"{ROUNDS} rounds of {SECONDS} s in turn ({LOAD_ROUNDS} of loading), client and server on this machine: medians, "
            "minimum and maximum; ratios are medians of those of the rounds. CPU is the client's user and system time, with its "
            "start. pgbench has as many threads as fenxi takes, sysbench one for each connection.",
            "Loading is ours and sysbench's `prepare` with its indexes. Memory is the difference of the resident sets with "
            "100 and with that many connections, each of which runs transactions; MariaDB has its pool of threads there.",
            "On a machine that does other work as well, ratios of throughput say who is given processors more than "
            "who needs them: a client with few threads is given fewer. The load average above shows how busy it was."])


if __name__ == "__main__":
    main()
