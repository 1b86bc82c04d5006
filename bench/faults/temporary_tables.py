"""Each transaction makes a temporary table and drops it: work on the catalogues, which grow; before, one table is kept."""

import contextlib

import servers

TITLE = "a temporary table for each transaction"
CONNECTIONS = 8
FINDINGS = {"db-one-statement": "temporary", "db-dead-rows": "pg_catalog", "schema-change": "", "db-temp-disk-tables": ""}
TEXT = """
about = "a list is worked on"
[options]
kept = {{ value = 0, about = "1: without a temporary table" }}
[[table]]
name = "item"
rows = "20000"
columns = [["id", "row + 1"], ["stock", "100"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL)"
[[transaction]]
name = "with a table"
weight = "1 - kept"
[[transaction.step]]
sql = ["{begin}", "CREATE TEMPORARY TABLE list (id INTEGER, stock INTEGER)", "INSERT INTO list SELECT id, stock FROM item WHERE id < 20", "SELECT sum(stock) FROM list", "DROP {temporary} TABLE list", "COMMIT"]
[[transaction]]
name = "without"
weight = "kept"
[[transaction.step]]
sql = ["{begin}", "SELECT id, stock FROM item WHERE id < 20", "SELECT sum(stock) FROM item WHERE id < 20", "COMMIT"]
"""
WORKLOADS = {"PostgreSQL": TEXT.format(begin="BEGIN", temporary=""), "MariaDB": TEXT.format(begin="BEGIN", temporary="TEMPORARY")}
HEALTHY = {"kept": 1}
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"kept": 0}
