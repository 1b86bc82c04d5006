"""A job that somebody's timer starts every two seconds: thirty short processes; before, none."""

import contextlib

import backup
import beside
import servers

TITLE = "a storm of short processes every two seconds"
CONNECTIONS = 2
FINDINGS = {"cpu-neighbour", "cpu-neighbour-short", "short-processes", "load-stalls"}
WORKLOAD = backup.WORKLOAD
ARGUMENTS = ["--rate", "600"]
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    with beside.loop("for n in {1..30}; do gzip -6 < /usr/bin/bash > /dev/null & done; wait; sleep 1.3"):
        yield
