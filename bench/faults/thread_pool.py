"""A thread pool of the server that is too small for its work: statements wait in its queue while a CPU is idle. Before, it is larger."""

import contextlib

import servers

TITLE = "the server's thread pool is too small"
CONNECTIONS = 8
FINDINGS = {"db-pool-waits"}
PARTS = {"waiting in a pool"}
WORKLOAD = """
about = "a sum over some items"
[[table]]
name = "item"
rows = "50000"
columns = [["id", "row + 1"], ["stock", "100"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL)"
[[transaction]]
name = "sum"
[[transaction.step]]
sql = "SELECT sum(stock * id) FROM item WHERE id < 20000"
"""
SERVERS = {"MariaDB": lambda port: servers.mariadb(port, options=["--thread-handling=pool-of-threads", "--thread-pool-size=8"])}


@contextlib.contextmanager
def injected(server):
    server.sql("SET GLOBAL thread_pool_size = 1")
    try:
        yield
    finally:
        server.sql("SET GLOBAL thread_pool_size = 8")
