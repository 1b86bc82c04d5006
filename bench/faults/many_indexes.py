"""Many indexes on a table that is written; before, one."""

import contextlib

import beside

TITLE = "each write goes to many indexes"
CONNECTIONS = 2
FINDINGS = {"db-index-writes", "db-unused-index"}
COLUMNS = [f"c{n}" for n in range(14)]
WORKLOAD = """
about = "events come"
[[table]]
name = "event"
rows = "50000"
columns = [["id", "row + 1"], MADE]
create = "CREATE TABLE event (id INTEGER, TYPED)"
[[transaction]]
name = "event"
[[transaction.step]]
sql = "INSERT INTO event VALUES (:{uniform(100000, 2000000000)}, DRAWN)"
"""
WORKLOAD = WORKLOAD.replace("MADE", ", ".join(f'["{name}", "uniform(1, 1000000000)"]' for name in COLUMNS))
WORKLOAD = WORKLOAD.replace("TYPED", ", ".join(f"{name} INTEGER" for name in COLUMNS)).replace("DRAWN", ", ".join([":{uniform(1, 1000000000)}"] * len(COLUMNS)))
SERVERS = {"PostgreSQL": lambda port: beside.counting(port, "synchronous_commit=off"), "MariaDB": lambda port: beside.mariadb_counting(port, "--innodb-flush-log-at-trx-commit=2")}


@contextlib.contextmanager
def injected(server):
    on = " ON event" if server.name == "MariaDB" else ""
    server.sql("; ".join(f"CREATE INDEX event_{name} ON event ({name})" for name in COLUMNS))
    try:
        yield
    finally:
        server.sql("; ".join(f"DROP INDEX event_{name}{on}" for name in COLUMNS))
