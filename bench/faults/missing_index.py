"""A missing index: somebody has dropped it, and each look-up reads the whole table."""

import contextlib

import servers

TITLE = "missing index"
CONNECTIONS = 2
FINDINGS = {"db-full-scans", "db-scans", "db-one-statement", "db-joins-without-index", "db-rows-examined"}
PARTS = {"on CPU, user"}
WORKLOAD = """
about = "orders of a customer"
[[table]]
name = "orders"
rows = "200000"
columns = [["id", "row + 1"], ["customer", "row % 20000 + 1"], ["note", "letters(40)"]]
create = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, note VARCHAR(60))"
after = ["CREATE INDEX orders_customer ON orders (customer)"]
[[transaction]]
name = "orders of a customer"
[[transaction.step]]
sql = "SELECT count(*) FROM orders WHERE customer = :{uniform(1, 20000)}"
"""

SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    server.sql("DROP INDEX orders_customer" + (" ON orders" if server.name == "MariaDB" else ""))
    try:
        yield
    finally:
        server.sql("CREATE INDEX orders_customer ON orders (customer)")
