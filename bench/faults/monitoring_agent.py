"""An agent that reads all of /proc again and again beside a server; before, there is none."""

import contextlib

import backup
import beside
import servers

TITLE = "an agent reads /proc all the time"
CONNECTIONS = 4
FINDINGS = {"cpu-neighbour", "cpu-neighbour-short"}
WORKLOAD = backup.WORKLOAD
SERVERS = {"PostgreSQL": servers.postgres}


@contextlib.contextmanager
def injected(server):
    with beside.loop("cat /proc/[0-9]*/smaps /proc/[0-9]*/maps"), beside.loop("cat /proc/[0-9]*/smaps"):
        yield
