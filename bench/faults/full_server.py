"""More clients than the server takes connections: the others are refused; before, there is room for all."""

import contextlib

import backup
import servers

TITLE = "a server takes no more connections"
CONNECTIONS = 20
FINDINGS = {"db-connections-full", "load-errors", "connects-refused"}
WORKLOAD = backup.WORKLOAD
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, connections=30), "MariaDB": lambda port: servers.mariadb(port, connections=30)}


@contextlib.contextmanager
def injected(server):
    yield {"-c": 60}
