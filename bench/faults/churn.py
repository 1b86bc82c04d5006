"""A connection for each transaction; before, they stay."""

import contextlib

import servers

TITLE = "a database connection for each transaction"
CONNECTIONS = 8
FINDINGS = {"db-connection-churn", "connection-for-each"}
WORKLOAD = """
about = "look-ups by a key"
[options]
anew = { value = 0, about = "percent of transactions that make a new connection" }
[[table]]
name = "item"
rows = "100000"
columns = [["id", "row + 1"], ["name", "letters(40)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(60))"
[[transaction]]
name = "look up"
reconnect_pct = "anew"
[[transaction.step]]
sql = "SELECT name FROM item WHERE id = :{uniform(1, 100000)}"
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"anew": 100}
