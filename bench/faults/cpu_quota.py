"""A CPU quota on the server: its control group may use 40 % of a CPU."""

import contextlib

import cgroups
import servers

TITLE = "CPU quota on the server"
CONNECTIONS = 8
FINDINGS = {"cgroup-throttled"}
PARTS = {"throttled"}
WORKLOAD = """
about = "look-ups by a key"
[[table]]
name = "item"
rows = "100000"
columns = [["id", "row + 1"], ["name", "letters(40)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(60))"
[[transaction]]
name = "look up"
[[transaction.step]]
sql = "SELECT name FROM item WHERE id = :{uniform(1, 100000)}"
"""


def group_of(name):
    """A control group for a fault."""
    return cgroups.group(name, "cpu", "cpu.max")


def quota_of(group):
    """The file of its CPU quota."""
    second = group / "cpu.max"
    return second if second.exists() else group / "cpu.cfs_quota_us"


@contextlib.contextmanager
def limited(quota):
    second = quota.name == "cpu.max"
    quota.write_text("40000 100000" if second else "40000")
    try:
        yield
    finally:
        quota.write_text("max 100000" if second else "-1")


def grouped(start):
    """Starts a server in a separate control group."""
    return cgroups.serving(start, group_of)


SERVERS = {"PostgreSQL": grouped(servers.postgres), "MariaDB": grouped(servers.mariadb)}


@contextlib.contextmanager
def injected(server):
    with limited(quota_of(server.group)):
        yield
