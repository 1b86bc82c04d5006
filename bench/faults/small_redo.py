"""A redo log of a few megabytes under many writes; before, there is room enough."""

import contextlib

import servers

TITLE = "a redo log that is too small"
CONNECTIONS = 8
FINDINGS = {"db-redo-full"}
WORKLOAD = """
about = "rows that are changed"
[[table]]
name = "item"
rows = "100000"
columns = [["id", "row + 1"], ["n", "0"], ["note", "letters(200)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, n INTEGER, note VARCHAR(400))"
[[transaction]]
name = "change"
[[transaction.step]]
sql = "UPDATE item SET note = :{letters(300)}, n = n + 1 WHERE id = :{uniform(1, 100000)}"
"""
SERVERS = {"MariaDB": lambda port: servers.mariadb(port, options=["--innodb-log-file-size=512M", "--innodb-log-buffer-size=2M", "--innodb-flush-log-at-trx-commit=0"])}


@contextlib.contextmanager
def injected(server):
    server.sql("SET GLOBAL innodb_log_file_size = 4194304")
    try:
        yield
    finally:
        server.sql("SET GLOBAL innodb_log_file_size = 536870912")
