"""Statements that fail: keys are given twice."""

import contextlib

import servers

TITLE = "statements fail"
CONNECTIONS = 4
FINDINGS = {"db-errors", "load-errors", "db-rollbacks"}
WORKLOAD = """
about = "orders with numbers"
[options]
keys = { value = 2000000000, about = "numbers there are" }
[[table]]
name = "purchase"
rows = "100"
columns = [["id", "row + 1"], ["note", "letters(40)"]]
create = "CREATE TABLE purchase (id BIGINT PRIMARY KEY, note VARCHAR(60))"
[[transaction]]
name = "order"
[[transaction.step]]
sql = "INSERT INTO purchase (id, note) VALUES (:{uniform(1, keys)}, :{letters(40)})"
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"keys": 20000}
