"""A buffer pool that is far smaller than what is read, on a server that reads past the page cache."""

import contextlib
import pathlib

import servers

TITLE = "a buffer pool that is too small"
CONNECTIONS = 4
FINDINGS = {"db-cache-hit-low", "db-reads-slow", "db-buffer-waits"}
PARTS = {"user I/O", "block I/O"}
WORKLOAD = """
about = "look-ups by a key"
[[table]]
name = "item"
rows = "200000"
columns = [["id", "row + 1"], ["name", "letters(200)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(300))"
[[transaction]]
name = "look up"
[[transaction.step]]
sql = "SELECT name FROM item WHERE id = :{uniform(1, 200000)}"
"""
SERVERS = {"MariaDB": lambda port: servers.mariadb(port, options=["--innodb-flush-method=O_DIRECT"], folder=pathlib.Path("/var/tmp"))}


@contextlib.contextmanager
def injected(server):
    server.sql("SET GLOBAL innodb_buffer_pool_size = 5242880")
    try:
        yield
    finally:
        server.sql("SET GLOBAL innodb_buffer_pool_size = 536870912")
