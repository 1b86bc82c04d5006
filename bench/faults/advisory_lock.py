"""An application's own lock around its work: advisory locks of PostgreSQL, GET_LOCK of MariaDB. Before, each takes another one."""

import contextlib

import servers

TITLE = "a lock of the application"
CONNECTIONS = 8
FINDINGS = {"db-lock-waits", "db-blocking-chain"}
PARTS = {"lock"}
TEXT = """
about = "an order is worked on under a lock"
[options]
locks = {{ value = 1, about = "locks that there are" }}
[[table]]
name = "item"
rows = "20000"
columns = [["id", "row + 1"], ["stock", "100"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL)"
[[transaction]]
name = "order"
[[transaction.step]]
let = ["lock := uniform(1, locks)"]
sql = ["{take}", "SELECT sum(stock) FROM item WHERE id < 3000", "{leave}"]
"""
WORKLOADS = {
    "PostgreSQL": TEXT.format(take="SELECT pg_advisory_lock(:lock)", leave="SELECT pg_advisory_unlock(:lock)"),
    "MariaDB": TEXT.format(take="SELECT GET_LOCK(CONCAT('o', :lock), 10)", leave="SELECT RELEASE_LOCK(CONCAT('o', :lock))"),
}
HEALTHY = {"locks": 10000}
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"locks": 1}
