"""A dump of the database beside the load, over and over."""

import contextlib
import pathlib
import shlex

import beside
import servers

TITLE = "a backup beside the load"
CONNECTIONS = 4
FINDINGS = {"db-other-application": "dump", "cpu-neighbour": "dump", "db-backup": ""}
WORKLOAD = """
about = "look-ups by a key"
[[table]]
name = "item"
rows = "200000"
columns = [["id", "row + 1"], ["name", "letters(60)"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(100))"
[[transaction]]
name = "look up"
[[transaction.step]]
sql = "SELECT name FROM item WHERE id = :{uniform(1, 200000)}"
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


def dump(server):
    if server.name == "MariaDB":
        server.sql("CREATE USER IF NOT EXISTS dump@localhost; GRANT ALL ON *.* TO dump@localhost")
        return ["mariadb-dump", "--no-defaults", f"--socket={server.folder}/my.sock", "-udump", "--single-transaction", "test"]
    return [pathlib.Path(server.client[0]).parent / "pg_dump", "-h", "127.0.0.1", "-p", server.port, "-U", "postgres", "postgres"]


@contextlib.contextmanager
def injected(server):
    with beside.loop(shlex.join(map(str, dump(server))) + " > /dev/null"):
        yield
