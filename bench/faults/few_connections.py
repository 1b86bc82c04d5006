"""Too few connections for the rate, although each is served at once: the client thinks within its transactions. Before, there are more."""

import contextlib

import servers

TITLE = "too few connections, with a short service"
CONNECTIONS = 16
FINDINGS = {"connections-few"}
PARTS = {"waiting for a connection"}
ARGUMENTS = ["--rate", "190", "--arrival", "poisson"]
WORKLOAD = """
about = "a reservation, which the client considers for a while"
[[table]]
name = "seat"
rows = "20000"
columns = [["id", "row + 1"], ["taken", "0"]]
create = "CREATE TABLE seat (id INTEGER PRIMARY KEY, taken INTEGER NOT NULL)"
[[transaction]]
name = "reserve"
[[transaction.step]]
sql = "SELECT taken FROM seat WHERE id = :{uniform(1, 20000)}"
[[transaction.step]]
think_us = "9000"
[[transaction.step]]
sql = "SELECT taken FROM seat WHERE id = :{uniform(1, 20000)}"
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"-c": 2}
