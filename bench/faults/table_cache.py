"""A table cache for fewer tables than are used."""

import contextlib

import servers

TITLE = "a table cache that is too small"
CONNECTIONS = 16
FINDINGS = {"db-table-cache"}
SECONDS = 34
WORKLOAD = """
about = "look-ups in one of many tables"
[[table]]
name = "part{n}"
instances = "200"
rows = "100"
columns = [["id", "row + 1"], ["name", "letters(40)"]]
create = "CREATE TABLE part{n} (id INTEGER PRIMARY KEY, name VARCHAR(60))"
[[transaction]]
name = "look up"
[[transaction.step]]
table = "uniform(1, 200)"
sql = "SELECT name FROM part{n} WHERE id = :{uniform(1, 100)}"
"""
SERVERS = {"MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    server.sql("SET GLOBAL table_open_cache = 10")
    try:
        yield
    finally:
        server.sql("SET GLOBAL table_open_cache = 2000")
