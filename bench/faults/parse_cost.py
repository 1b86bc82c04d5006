"""Statements that are parsed and planned each time; before, they are prepared once."""

import contextlib

import beside
import servers

TITLE = "statements are planned anew each time"
CONNECTIONS = 2
FINDINGS = {"db-planning", "db-unexplained-cpu", "db-parse-cost"}
JOINS = " ".join(f"JOIN kind k{n} ON k{n}.id = i.k{n}" for n in range(7))
WORKLOAD = """
about = "an item with its kinds"
[[table]]
name = "kind"
rows = "20"
columns = [["id", "row"], ["name", "letters(10)"]]
create = "CREATE TABLE kind (id INTEGER PRIMARY KEY, name VARCHAR(20))"
[[table]]
name = "item"
rows = "20000"
columns = [["id", "row + 1"], KEYS]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, TYPED)"
[[transaction]]
name = "item"
[[transaction.step]]
sql = "SELECT i.id, k0.name FROM item i JOINS WHERE i.id = :{uniform(1, 20000)}"
"""
WORKLOAD = WORKLOAD.replace("KEYS", ", ".join(f'["k{n}", "row % 20"]' for n in range(7))).replace("TYPED", ", ".join(f"k{n} INTEGER" for n in range(7))).replace("JOINS", JOINS)
SERVERS = {"PostgreSQL": lambda port: beside.counting(port, "pg_stat_statements.track_planning=on"), "PostgreSQL, planning not counted": beside.counting}


@contextlib.contextmanager
def injected(server):
    yield {"--protocol": "simple"}
