"""A limit on the writes that the cgroup of a database server may make to its disk: commits wait, and the disk has nothing to do."""

import contextlib
import pathlib

import cgroups
import io_limit
import server_disk_neighbour
import slow_flush

TITLE = "I/O limit on a server"
CONNECTIONS = 8
FINDINGS = {"disk-limited"}
PARTS = {"commit"}
WORKLOAD = slow_flush.WORKLOAD
SERVERS = {name: cgroups.serving(start, lambda port: io_limit.group_of()) for name, start in server_disk_neighbour.SERVERS.items()}


@contextlib.contextmanager
def injected(server):
    with io_limit.limited(server.group, io_limit.device(pathlib.Path("/var/tmp")), "wiops", 300):
        yield
