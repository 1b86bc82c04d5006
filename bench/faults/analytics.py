"""A report of another application on the same server, over and over."""

import contextlib

import backup
import beside
import servers

TITLE = "another application's report on the server"
CONNECTIONS = 4
FINDINGS = {"db-other-application"}
WORKLOAD = backup.WORKLOAD
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, options=["max_parallel_workers_per_gather=0"]), "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    report = "SELECT count(*), max(a.name) FROM item a JOIN item b ON a.id = b.id + 1 WHERE a.name > b.name"
    with beside.statements(server, report), beside.statements(server, report):
        yield
