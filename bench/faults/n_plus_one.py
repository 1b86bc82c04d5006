"""A statement for each row of an answer (N+1); before, one statement for all of them."""

import contextlib

import beside

TITLE = "a statement for each row"
CONNECTIONS = 4
FINDINGS = {"db-statement-for-each-row"}
LOOK_UPS = """
about = "an order with its lines"
[options]
joined = { value = 0, about = "1: all lines by one statement" }
[[table]]
name = "line"
rows = "100000"
columns = [["id", "row + 1"], ["purchase", "row / 40 + 1"], ["note", "letters(30)"]]
create = "CREATE TABLE line (id INTEGER PRIMARY KEY, purchase INTEGER NOT NULL, note VARCHAR(60))"
after = ["CREATE INDEX line_purchase ON line (purchase)"]
[[transaction]]
name = "order"
[[transaction.step]]
let = ["purchase := uniform(1, 2400)"]
sql = "SELECT count(*) FROM line WHERE purchase = :purchase"
[[transaction.step]]
when = "joined == 1"
sql = "SELECT id, note FROM line WHERE purchase = :purchase"
[[transaction.step]]
when = "joined == 0"
repeat = "40"
sql = "SELECT note FROM line WHERE id = :{uniform(1, 100000)}"
"""
BY_ROW = """
about = "the lines of some orders, by a cursor"
[options]
joined = { value = 0, about = "1: many rows at once" }
[[table]]
name = "line"
rows = "100000"
columns = [["id", "row + 1"], ["note", "letters(30)"]]
create = "CREATE TABLE line (id INTEGER PRIMARY KEY, note VARCHAR(60))"
[[transaction]]
name = "read"
[[transaction.step]]
sql = ["BEGIN", "DECLARE lines CURSOR FOR SELECT id, note FROM line WHERE id BETWEEN 1000 AND 1100"]
[[transaction.step]]
when = "joined == 1"
sql = "FETCH 100 FROM lines"
[[transaction.step]]
when = "joined == 0"
repeat = "100"
sql = "FETCH 1 FROM lines"
[[transaction.step]]
sql = "COMMIT"
"""
HEALTHY = {"joined": 1}
WORKLOADS = {"PostgreSQL": LOOK_UPS, "MariaDB": LOOK_UPS, "PostgreSQL, row by row": BY_ROW}
ARGUMENTS_OF = {"MariaDB": beside.SIMPLE}
SERVERS = {"PostgreSQL": beside.counting, "MariaDB": beside.mariadb_counting, "PostgreSQL, row by row": beside.counting}


@contextlib.contextmanager
def injected(server):
    yield {"joined": 0}
