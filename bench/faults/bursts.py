"""Transactions come in bursts every two seconds; before, as many evenly."""

import contextlib

import backup
import servers

TITLE = "load comes in bursts"
CONNECTIONS = 4
FINDINGS = {"load-bursts"}
PARTS = {"waiting for a connection", "run queue"}
WORKLOAD = backup.WORKLOAD
HEALTHY = {"--rate": "10000"}
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"--rate": ",".join(["25@1900ms,200000@100ms"] * 10)}
