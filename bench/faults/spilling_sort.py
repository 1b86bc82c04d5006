"""Sorts that do not fit into the memory that a statement may use; before, they do."""

import contextlib

import servers

TITLE = "sorts on disk"
CONNECTIONS = 2
FINDINGS = {"db-temp-files", "db-temp-disk-tables", "db-sort-merge"}
WORKLOAD = """
about = "the last of many in order"
[[table]]
name = "event"
rows = "60000"
columns = [["id", "row + 1"], ["note", "letters(60)"]]
create = "CREATE TABLE event (id INTEGER PRIMARY KEY, note VARCHAR(80))"
[[transaction]]
name = "report"
[[transaction.step]]
sql = "SELECT count(*) FROM (SELECT note FROM event ORDER BY note LIMIT 50000) t"
"""


def with_memory(port):
    """A server whose statements may use much memory; what a role has set counts for its new sessions."""
    server = servers.postgres(port)
    server.sql("ALTER ROLE postgres SET work_mem = '64MB'")
    return server


SERVERS = {"PostgreSQL": with_memory}


@contextlib.contextmanager
def injected(server):
    server.sql("ALTER ROLE postgres SET work_mem = '64kB'")
    try:
        yield
    finally:
        server.sql("ALTER ROLE postgres SET work_mem = '64MB'")
