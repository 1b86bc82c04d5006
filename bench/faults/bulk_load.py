"""Another session loads rows in bulk beside the load."""

import contextlib

import backup
import beside
import servers

TITLE = "a bulk load beside the load"
CONNECTIONS = 4
FINDINGS = {"db-other-application": "", "db-bulk-load": ""}
WORKLOAD = backup.WORKLOAD
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}
ROWS = {"PostgreSQL": "SELECT i, md5(CAST(i AS TEXT)) FROM generate_series(1, 200000) i", "MariaDB": "SELECT seq, md5(seq) FROM seq_1_to_200000"}


@contextlib.contextmanager
def injected(server):
    server.sql("CREATE TABLE IF NOT EXISTS arrived (id INTEGER, note VARCHAR(60))")
    with beside.statements(server, f"INSERT INTO arrived {ROWS[server.name]}"):
        yield
    server.sql("DROP TABLE arrived")
