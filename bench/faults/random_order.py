"""One row in random order, for which all are sorted; before, one by its key."""

import contextlib

import servers

TITLE = "all rows are sorted for one"
CONNECTIONS = 2
FINDINGS = {"db-rows-examined", "db-full-scans", "db-sort-merge", "db-scans"}
WORKLOAD = """
about = "a quotation"
[[table]]
name = "quote"
rows = "30000"
columns = [["id", "row + 1"], ["saying", "letters(80)"]]
create = "CREATE TABLE quote (id INTEGER PRIMARY KEY, saying VARCHAR(100))"
after = ["CREATE VIEW random_quote AS SELECT id, saying FROM quote WHERE id = 77 LIMIT 1"]
[[transaction]]
name = "a quotation"
[[transaction.step]]
sql = "SELECT saying FROM random_quote"
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}
VIEW = "CREATE OR REPLACE VIEW random_quote AS SELECT id, saying FROM quote %s LIMIT 1"


@contextlib.contextmanager
def injected(server):
    server.sql(VIEW % f"ORDER BY {'rand()' if server.name == 'MariaDB' else 'random()'}")
    try:
        yield
    finally:
        server.sql(VIEW % "WHERE id = 77")
