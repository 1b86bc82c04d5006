"""A small table whose dead rows are not removed, read in full by each statement."""

import contextlib
import subprocess

import servers

TITLE = "dead rows that are never removed"
CONNECTIONS = 4
FINDINGS = {"db-dead-rows"}
PARTS = {"on CPU, user", "on CPU", "on CPU, system"}
WORKLOAD = """
about = "takes the oldest of a queue"
[[table]]
name = "queue"
rows = "200"
columns = [["id", "row + 1"], ["note", "letters(40)"]]
create = "CREATE TABLE queue (id INTEGER, note VARCHAR(60))"
[[transaction]]
name = "take"
[[transaction.step]]
sql = "SELECT min(id) FROM queue"
"""
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, options=["autovacuum=off"])}


@contextlib.contextmanager
def injected(server):
    server.sql("INSERT INTO queue SELECT i, repeat('x', 40) FROM generate_series(1001, 200000) i; DELETE FROM queue WHERE id > 1000")
    try:
        yield
    finally:
        subprocess.run([str(word) for word in [*server.client, "VACUUM queue"]], check=True)
