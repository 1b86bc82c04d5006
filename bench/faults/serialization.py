"""Transactions that cannot be serialised and are repeated; before, each takes separate rows."""

import contextlib

import servers

TITLE = "transactions are repeated again and again"
CONNECTIONS = 8
FINDINGS = {"load-retries", "db-rollbacks", "load-errors", "db-errors"}
WORKLOAD = """
about = "an order changes the stock of an item"
[options]
items = { value = 3, about = "items that are ordered" }
[[table]]
name = "item"
rows = "20000"
columns = [["id", "row + 1"], ["stock", "100"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL)"
[[transaction]]
name = "order"
[[transaction.step]]
let = ["item := uniform(1, items)"]
sql = ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT stock FROM item WHERE id = :item", "SELECT count(*) FROM item WHERE id < 2000", "UPDATE item SET stock = stock - 1 WHERE id = :item", "COMMIT"]
"""
HEALTHY = {"items": 20000}
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, options=["synchronous_commit=off"])}


@contextlib.contextmanager
def injected(server):
    yield {"items": 3}
