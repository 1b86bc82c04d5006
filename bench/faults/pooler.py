"""A connection pooler with too few connections to the server: clients wait in its queue. Before, it has as many as there are clients."""

import contextlib
import shutil
import subprocess
import time

import servers
from common import Skipped, setting

TITLE = "a connection pooler is too small"
CONNECTIONS = 12
PORT = setting("BENCH_PORT", 17432)
# The pooler's own console, and the server itself: one in transaction mode passes no observer on.
ARGUMENTS = ["--protocol", "simple", "--db", f"postgres://postgres@127.0.0.1:{PORT + 1}/pgbouncer", "--db", f"postgres://postgres@127.0.0.1:{PORT}/postgres"]
FINDINGS = {"db-pool-waits"}
PARTS = {"waiting in a pool"}
WORKLOAD = """
about = "a seat, which the server considers for a while"
[[table]]
name = "seat"
rows = "20000"
columns = [["id", "row + 1"], ["taken", "0"]]
create = "CREATE TABLE seat (id INTEGER PRIMARY KEY, taken INTEGER NOT NULL)"
[[transaction]]
name = "look"
[[transaction.step]]
sql = "SELECT taken, pg_sleep(0.004) FROM seat WHERE id = :{uniform(1, 20000)}"
"""


def pooled(port):
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if not program:
        raise Skipped("pgbouncer is not installed")
    server = servers.postgres(port)
    folder = server.folder
    (folder / "users").write_text('"postgres" ""\n')
    server.pool = folder / "pool.ini"

    def settings(size):
        server.pool.write_text(f"[databases]\n* = host=127.0.0.1 port={port} user=postgres pool_size={size}\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port + 1}\n"
                               f"auth_type=any\npool_mode=transaction\nmax_client_conn=200\nadmin_users=postgres\nlogfile={folder}/pool.log\npidfile={folder}/pool.pid\nunix_socket_dir=\n")
    settings(12)
    server.settings = settings
    bouncer = subprocess.Popen(servers.as_user("postgres", [program, server.pool]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.at_end.append(lambda: (bouncer.terminate(), bouncer.wait()))
    time.sleep(1)
    server.bouncer, server.url = bouncer, server.url.replace(str(port), str(port + 1))
    return server


SERVERS = {"PostgreSQL": pooled}


@contextlib.contextmanager
def injected(server):
    server.settings(1)
    server.bouncer.send_signal(1)
    try:
        yield
    finally:
        server.settings(12)
        server.bouncer.send_signal(1)
