"""Statistics of a table from before most of its rows came: the planner takes the wrong index, or the wrong join; before, they are right."""

import contextlib

import beside

TITLE = "stale statistics, and a bad plan"
CONNECTIONS = 2
FINDINGS = {"db-stale-statistics"}
PARTS = {"on CPU, user", "on CPU", "run queue"}
TABLES = """
about = "open orders of a customer"
[[table]]
name = "purchase"
rows = "60000"
columns = [["id", "row + 1"], ["state", "row / 59000"], ["customer", "row % 2000 + 1"], ["note", "letters(30)"]]
create = "CREATE TABLE purchase (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, customer INTEGER NOT NULL, note VARCHAR(60))"
after = ["CREATE INDEX purchase_state ON purchase (state)", "CREATE INDEX purchase_customer ON purchase (customer)", "ANALYZE purchase"]
[[transaction]]
name = "open orders"
[[transaction.step]]
"""
WORKLOADS = {
    "wrong index": TABLES + 'sql = "SELECT count(note) FROM purchase WHERE state = 7 AND customer = :{uniform(1, 2000)}"',
    "wrong join": TABLES + 'sql = "SELECT count(*) FROM purchase a JOIN purchase b ON b.customer = a.customer AND b.state = 7 WHERE a.state = 7 AND a.id BETWEEN 1000000 AND 1000050"',
}
SERVERS = dict.fromkeys(WORKLOADS, lambda port: beside.counting(port, "autovacuum=off"))


@contextlib.contextmanager
def injected(server):
    # The statistics know no row of this state, which soon is that of most rows.
    server.sql("INSERT INTO purchase SELECT 1000000 + i, 7, i % 2000 + 1, 'new' FROM generate_series(1, 60000) i")
    try:
        yield
    finally:
        server.sql("DELETE FROM purchase WHERE state = 7")
