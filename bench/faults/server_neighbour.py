"""Another program on all CPUs while a database server works."""

import contextlib

import neighbour
import servers

TITLE = "a noisy neighbour of a server"
CONNECTIONS = 8
FINDINGS = {"cpu-neighbour"}
# The driver has the same CPUs.
PARTS = {"run queue", "waiting for the driver"}
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
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    with neighbour.injected():
        yield
