"""Another program writes much to the disk on which a database server makes commits durable."""

import contextlib
import pathlib

import disk_neighbour
import servers
import slow_flush

TITLE = "a neighbour on the disk of a server"
CONNECTIONS = 8
FINDINGS = {"disk-neighbour"}
PARTS = {"commit"}
WORKLOAD = slow_flush.WORKLOAD


def on_disk(start):
    """Its files on the disk: temporary ones may be in memory."""
    folder = pathlib.Path("/var/tmp")
    return lambda port: start(port, folder=folder)


SERVERS = {"PostgreSQL": on_disk(servers.postgres), "MariaDB": on_disk(servers.mariadb)}


@contextlib.contextmanager
def injected(server):
    with disk_neighbour.injected(pathlib.Path("/var/tmp")):
        yield
