"""A client that fetches all rows and uses one; before, it asks for one."""

import contextlib

import beside

TITLE = "huge results are fetched"
CONNECTIONS = 2
FINDINGS = {"db-large-results"}
WORKLOAD = """
about = "an entry of a list"
[options]
most = { value = 1, about = "rows of an answer" }
[[table]]
name = "entry"
rows = "20000"
columns = [["id", "row + 1"], ["note", "letters(100)"]]
create = "CREATE TABLE entry (id INTEGER PRIMARY KEY, note VARCHAR(200))"
[[transaction]]
name = "entry"
[[transaction.step]]
sql = "SELECT id, note FROM entry WHERE id >= :{uniform(1, 9000)} ORDER BY id LIMIT {most}"
"""
ARGUMENTS_OF = {"MariaDB": beside.SIMPLE}
SERVERS = {"PostgreSQL": beside.counting, "MariaDB": beside.mariadb_counting}


@contextlib.contextmanager
def injected(server):
    yield {"most": 10000}
