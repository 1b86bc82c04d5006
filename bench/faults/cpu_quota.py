"""A CPU quota on the server: its control group may use 40 % of a CPU."""

import contextlib
import pathlib
import time

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

    def started(port):
        group = group_of(port)
        server = start(port)
        server.quota = quota_of(group)
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        for pid in [str(server.process.pid), *children]:
            # One of the children may have ended by now.
            with contextlib.suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(pid)
        server.at_end.append(lambda: remove(group))
        return server

    return started


def remove(group):
    for _ in range(50):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)


SERVERS = {"PostgreSQL": grouped(servers.postgres), "MariaDB": grouped(servers.mariadb)}


@contextlib.contextmanager
def injected(server):
    with limited(server.quota):
        yield
