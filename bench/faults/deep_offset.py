"""Pages of a list that are far behind: the server reads all rows before them and throws them away. Before, the first pages."""

import contextlib

import beside

TITLE = "pages by a deep OFFSET"
CONNECTIONS = 2
FINDINGS = {"db-deep-offset", "db-rows-examined"}
WORKLOAD = """
about = "a page of a list"
[options]
first = { value = 0, about = "the smallest offset" }
[[table]]
name = "entry"
rows = "100000"
columns = [["id", "row + 1"], ["note", "letters(60)"]]
create = "CREATE TABLE entry (id INTEGER PRIMARY KEY, note VARCHAR(100))"
[[transaction]]
name = "page"
[[transaction.step]]
sql = "SELECT id, note FROM entry ORDER BY id LIMIT 20 OFFSET :{uniform(first, first + 100)}"
"""
ARGUMENTS_OF = {"MariaDB": beside.SIMPLE}
SERVERS = {"PostgreSQL": beside.counting, "MariaDB": beside.mariadb_counting}


@contextlib.contextmanager
def injected(server):
    yield {"first": 60000}
