"""A memory limit on a server below what it reads again and again: the page cache of its group is reclaimed all the time."""

import contextlib
import pathlib

import cgroups
import memory_limit
import servers

TITLE = "memory limit on a server"
CONNECTIONS = 8
FINDINGS = {"cgroup-memory-limit", "memory-stalls"}
WORKLOAD = """
about = "look-ups all over a table that is larger than the limit"
[[table]]
name = "item"
rows = "900000"
columns = [["id", "row + 1"], ["name", "letters(180)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(200))"
[[transaction]]
name = "look up"
[[transaction.step]]
sql = "SELECT name FROM item WHERE id = :{uniform(1, 900000)}"
"""


def small(start, *options):
    """Starts a server with a small cache, on a disk, in a group."""
    on_disk = lambda port: start(port, options=options, folder=pathlib.Path("/var/tmp"))
    return cgroups.serving(on_disk, lambda port: cgroups.group("server-memory", "memory", "memory.max"))


SERVERS = {"PostgreSQL": small(servers.postgres, "shared_buffers=16MB"), "MariaDB": small(servers.mariadb, "--innodb-buffer-pool-size=16M", "--innodb-flush-method=fsync")}


@contextlib.contextmanager
def injected(server):
    with memory_limit.limited(server.group, 96 << 20):
        yield
