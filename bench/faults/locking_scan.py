"""A transaction locks rows by a condition without an index; before, by the key. InnoDB locks all rows that it reads."""

import contextlib

import servers

TITLE = "a scan locks all rows"
CONNECTIONS = 8
FINDINGS = {"db-scans", "db-full-scans", "db-rows-examined", "db-lock-waits"}
WORKLOAD = """
about = "accounts"
[options]
column = { value = 0, about = "0: by the key, 1: by a column without an index" }
[[table]]
name = "account"
rows = "5000"
columns = [["id", "row + 1"], ["number", "row + 1"], ["amount", "0"]]
create = "CREATE TABLE account (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, amount INTEGER NOT NULL)"
[[transaction]]
name = "pay"
[[transaction.step]]
sql = "BEGIN"
[[transaction.step]]
when = "1 - column"
sql = "UPDATE account SET amount = amount + 1 WHERE id = :{uniform(1, 5000)}"
[[transaction.step]]
when = "column"
sql = "UPDATE account SET amount = amount + 1 WHERE number = :{uniform(1, 5000)}"
[[transaction.step]]
sql = "COMMIT"
"""
SERVERS = {"MariaDB": lambda port: servers.mariadb(port, options=["--innodb-flush-log-at-trx-commit=0"])}


@contextlib.contextmanager
def injected(server):
    yield {"column": 1}
