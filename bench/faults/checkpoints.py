"""A log limit that forces a checkpoint every few seconds; before, there is room."""

import contextlib
import pathlib

import servers

TITLE = "checkpoints close together"
CONNECTIONS = 4
FINDINGS = {"db-checkpoints-often", "db-checkpoints-requested", "db-full-pages"}
SECONDS = 40
WORKLOAD = """
about = "updates all over a table"
[[table]]
name = "account"
rows = "300000"
columns = [["id", "row + 1"], ["note", "letters(80)"]]
create = "CREATE TABLE account (id INTEGER PRIMARY KEY, note VARCHAR(120))"
[[transaction]]
name = "update"
[[transaction.step]]
sql = "UPDATE account SET note = :{letters(80)} WHERE id = :{uniform(1, 300000)}"
"""
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, options=["synchronous_commit=off"], folder=pathlib.Path("/var/tmp"))}


@contextlib.contextmanager
def injected(server):
    server.sql("ALTER SYSTEM SET max_wal_size = '64MB'")
    server.sql("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        server.sql("ALTER SYSTEM RESET max_wal_size")
        server.sql("SELECT pg_reload_conf()")
