"""A session that is idle in an old snapshot keeps versions of rows that are changed all the time; before, none does."""

import contextlib

import idle_blocker
import servers

TITLE = "an old snapshot keeps versions of rows"
CONNECTIONS = 2
FINDINGS = {"db-xmin-held", "db-dead-rows", "db-idle-in-transaction", "db-long-transaction", "db-history-list"}
WORKLOAD = """
about = "counters"
[[table]]
name = "counter"
rows = "20"
columns = [["id", "row + 1"], ["n", "0"]]
create = "CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)"
[[transaction]]
name = "count"
[[transaction.step]]
sql = ["UPDATE counter SET n = n + 1 WHERE id = :{uniform(1, 20)}", "SELECT sum(n) FROM counter"]
"""
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, options=["synchronous_commit=off"]),
           "MariaDB": lambda port: servers.mariadb(port, options=["--innodb-flush-log-at-trx-commit=2"])}


@contextlib.contextmanager
def injected(server):
    client = idle_blocker.session(server)
    begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT" if server.name == "MariaDB" else "BEGIN ISOLATION LEVEL REPEATABLE READ"
    client.stdin.write(f"{begin};\nSELECT count(*) FROM counter;\n")
    client.stdin.flush()
    try:
        yield
    finally:
        client.stdin.close()
        client.wait()
