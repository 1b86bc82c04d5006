"""Transactions that lock two rows in either order; before, always the lower one first."""

import contextlib

import servers

TITLE = "transactions lock rows in different orders"
CONNECTIONS = 8
FINDINGS = {"db-deadlocks"}
WORKLOAD = """
about = "a transfer between two accounts"
[options]
turned = { value = 0, about = "1: every other transfer locks the higher account first" }
[[table]]
name = "account"
rows = "10"
columns = [["id", "row + 1"], ["balance", "100"]]
create = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)"
[[transaction]]
name = "transfer"
[[transaction.step]]
let = ["low := uniform(1, 5)", "turn := turned * uniform(0, 1)", "first := low + turn * 5", "second := low + 5 - turn * 5"]
sql = ["BEGIN", "UPDATE account SET balance = balance - 1 WHERE id = :first", "UPDATE account SET balance = balance + 1 WHERE id = :second", "COMMIT"]
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"turned": 1}
