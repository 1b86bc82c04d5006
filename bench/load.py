#!/usr/bin/env python3
"""What a transaction costs the client, how many there are, and how fast tables are loaded, beside sysbench and pgbench.

Starts servers of its own; each measurement goes round the clients in turn, on the same server and tables.
Settings: BENCH_SECONDS (5), BENCH_ROUNDS (3), BENCH_ROWS (200000), BENCH_CLIENTS (16,64), BENCH_PORT (16432).
"""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import FENXI, Process, interleaved, measure, need, report, setting, spread

SECONDS = setting("BENCH_SECONDS", 5)
ROUNDS = setting("BENCH_ROUNDS", 3)
ROWS = setting("BENCH_ROWS", 200000)
CLIENTS = [int(n) for n in setting("BENCH_CLIENTS", "16,64").split(",")]
PORT = setting("BENCH_PORT", 16432)


def as_user(user, argv):
    """The words that run a program as another user when this one is root, which servers do not want to be."""
    own = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if os.getuid() == 0 else []
    return [str(word) for word in own + argv]


class Server:
    """A server in a folder of its own, which goes with it."""

    def __init__(self, name, scheme, user, database, port):
        self.name, self.user, self.database, self.port = name, user, database, port
        self.url = f"{scheme}://{user}@127.0.0.1:{port}/{database}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fenxi-bench-"))
        self.folder.chmod(0o777)

    def start(self, argv, ready):
        log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        for _ in range(300):
            if subprocess.run(ready, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return self
            time.sleep(0.1)
        sys.exit(f"bench: {self.name} does not start\n{(self.folder / 'log').read_text()}")

    def stop(self):
        self.process.send_signal(self.stops_with)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def postgres():
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        sys.exit("bench: PostgreSQL is missing: it is Debian's `postgresql`")
    server = Server("PostgreSQL", "postgres", "postgres", "postgres", PORT)
    server.stops_with = 2
    data = server.folder / "data"
    measure(as_user("postgres", [programs[-1] / "initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-D", data]))
    argv = [programs[-1] / "postgres", "-D", data, "-p", PORT, "-k", server.folder, "-c", "listen_addresses=127.0.0.1",
            "-c", "max_connections=300", "-c", "shared_buffers=512MB"]
    ready = [programs[-1] / "pg_isready", "-h", "127.0.0.1", "-p", str(PORT)]
    return server.start(as_user("postgres", argv), ready)


def mariadb():
    need("mariadbd", "it is Debian's `mariadb-server`")
    server = Server("MariaDB", "mysql", "root", "test", PORT + 1)
    server.stops_with = 15
    data, socket = server.folder / "data", server.folder / "my.sock"
    measure(as_user("mysql", ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                              "--auth-root-authentication-method=normal"]))
    argv = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--bind-address=127.0.0.1",
            f"--port={server.port}", "--skip-name-resolve", "--local-infile=1", "--max-connections=300",
            "--innodb-buffer-pool-size=512M"]
    server.start(as_user("mysql", argv), ["mariadb-admin", "--no-defaults", f"--socket={socket}", "-uroot", "ping"])
    measure(["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "-e", "CREATE DATABASE test"])
    return server


def sysbench(server, what, *more):
    """The words of sysbench."""
    if server.name == "PostgreSQL":
        place = ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={server.port}",
                 f"--pgsql-user={server.user}", f"--pgsql-db={server.database}"]
    else:
        place = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}",
                 f"--mysql-user={server.user}", f"--mysql-db={server.database}"]
    return ["sysbench", "oltp_point_select", *place, f"--table-size={ROWS}", *more, what]


def fenxi(server, what, *more, workload="oltp_point_select"):
    size = [] if workload == "select_only" else ["--set", f"table_size={ROWS}"]
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


def selects(server, clients):
    """Rows: CPU and throughput of each client that knows the server."""
    ours = [*("-c", clients), *("--for", f"{SECONDS}s")]
    subjects = {
        "fenxi, oltp_point_select": (fenxi(server, "run", *ours), r"transactions: +(\d+)"),
        "sysbench, oltp_point_select": (sysbench(server, "run", f"--threads={clients}", f"--time={SECONDS}"),
                                        r"transactions: +(\d+)"),
    }
    if server.name == "PostgreSQL":
        subjects["fenxi, select_only"] = (fenxi(server, "run", *ours, workload="select_only"), r"transactions: +(\d+)")
        subjects["pgbench -S"] = (["pgbench", "-S", "-n", "-M", "prepared", "-h", "127.0.0.1", "-p", server.port, "-U",
                                   server.user, "-c", clients, "-j", 1, "-T", SECONDS, server.database],
                                  r"actually processed: (\d+)")
    found = {name: [] for name in subjects}
    for turn in range(ROUNDS):
        # Each round begins with another one.
        names = list(subjects)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            found[name].append(client(*subjects[name]))
    rows = []
    for pair in [list(subjects)[i:i + 2] for i in range(0, len(subjects), 2)]:
        for name in pair:
            middle = [statistics.median(f[i] for f in found[name]) for i in (0, 1)]
            peer = [statistics.median(f[i] for f in found[pair[1]]) for i in (0, 1)]
            rows.append([f"{server.name}, {clients} connections: {name}", spread([f[0] for f in found[name]], digits=2),
                         f"{middle[0] / peer[0]:.2f}", spread([f[1] for f in found[name]], digits=0),
                         f"{middle[1] / peer[1]:.2f}"])
    return rows


def loading(server):
    """A row: seconds to load a table, ours and sysbench's."""
    def ours():
        measure(fenxi(server, "prepare"))
        measure(fenxi(server, "cleanup"))

    def theirs():
        measure(sysbench(server, "prepare"))
        measure(sysbench(server, "cleanup"))

    seconds = interleaved(ROUNDS, [("fenxi", ours), ("sysbench", theirs)])
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    return [f"{server.name}: loading {ROWS} rows", f"{ROWS / middle['fenxi']:.0f} rows/s", "",
            f"sysbench {ROWS / middle['sysbench']:.0f} rows/s", f"{middle['sysbench'] / middle['fenxi']:.2f}"]


def main():
    need(FENXI, "run `make build`")
    need("sysbench", "it is Debian's `sysbench`")
    rows = []
    for start in (postgres, mariadb):
        server = start()
        try:
            rows.append(loading(server))
            measure(fenxi(server, "prepare"))
            if server.name == "PostgreSQL":
                measure(fenxi(server, "prepare", workload="select_only"))
            for clients in CLIENTS:
                rows += selects(server, clients)
        finally:
            server.stop()
    report("load", "Loading databases", ["what", "client CPU, µs per transaction", "ratio", "transactions/s", "ratio"], rows,
           [f"{ROUNDS} rounds of {SECONDS} s in turn, client and server on this machine: medians, least and most. CPU is the "
            "client's user and system time, with its start.",
            "Ratios are to the second of each pair. Loading is ours and sysbench's `prepare` with its indexes, "
            "and the removal of the table; its last column is how many times faster ours is."])


if __name__ == "__main__":
    main()
