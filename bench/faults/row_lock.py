"""A queue for one row: all clients update the same one, as a counter or a stock does; before, each takes another row."""

import contextlib

import servers

TITLE = "row-lock queue on one row"
CONNECTIONS = 8
FINDINGS = {"db-lock-waits", "db-blocking-chain"}
PARTS = {"lock"}
WORKLOAD = """
about = "an order changes the stock of an item"
[options]
items = { value = 1, about = "items that are ordered" }
[[table]]
name = "item"
rows = "20000"
columns = [["id", "row + 1"], ["stock", "100"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL)"
[[transaction]]
name = "order"
[[transaction.step]]
let = ["item := uniform(10, items + 9)"]
sql = ["BEGIN", "UPDATE item SET stock = stock - 1 WHERE id = :item", "SELECT stock FROM item WHERE id = :item", "COMMIT"]
"""
HEALTHY = {"items": 10000}

SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"items": 1}
