"""A client that asks the server whether it lives before each statement; before, it does not."""

import contextlib

import beside

TITLE = "a test of the connection before each statement"
CONNECTIONS = 4
FINDINGS = {"db-ping", "db-statement-for-each-row"}
WORKLOAD = """
about = "look-ups by a key"
[options]
pings = { value = 4, about = "tests of the connection before a look-up" }
[[table]]
name = "item"
rows = "50000"
columns = [["id", "row + 1"], ["name", "letters(60)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(100))"
[[transaction]]
name = "look up"
[[transaction.step]]
repeat = "pings"
sql = "SELECT 1"
[[transaction.step]]
sql = "SELECT name FROM item WHERE id = :{uniform(1, 50000)}"
"""
HEALTHY = {"pings": 0}
ARGUMENTS_OF = {"MariaDB": beside.SIMPLE}
SERVERS = {"PostgreSQL": beside.counting, "MariaDB": beside.mariadb_counting}


@contextlib.contextmanager
def injected(server):
    yield {"pings": 4}
