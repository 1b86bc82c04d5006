"""An index that cannot be used, as the column is converted to another type; before, it can."""

import contextlib

import servers

TITLE = "a conversion makes an index useless"
CONNECTIONS = 2
FINDINGS = {"db-full-scans", "db-scans", "db-rows-examined", "db-one-statement"}
PARTS = {"on CPU, user", "on CPU", "run queue"}
WORKLOAD = """
about = "an order by its number, which is a text"
[options]
as_number = { value = 0, about = "1: the number is given as a number" }
[[table]]
name = "purchase"
rows = "60000"
columns = [["id", "row + 1"], ["code", "row + 1"], ["note", "letters(30)"]]
create = "CREATE TABLE purchase (id INTEGER PRIMARY KEY, code VARCHAR(20) NOT NULL, note VARCHAR(60))"
after = ["CREATE INDEX purchase_code ON purchase (code)"]
[[transaction]]
name = "order"
[[transaction.step]]
when = "as_number == 0"
sql.postgres = "SELECT note FROM purchase WHERE code = CAST(:{uniform(1, 60000)} AS VARCHAR)"
sql.mysql = "SELECT note FROM purchase WHERE code = CAST(:{uniform(1, 60000)} AS CHAR)"
[[transaction.step]]
when = "as_number == 1"
sql.postgres = "SELECT note FROM purchase WHERE CAST(code AS INTEGER) = :{uniform(1, 60000)}"
sql.mysql = "SELECT note FROM purchase WHERE code = :{uniform(1, 60000)}"
"""
ARGUMENTS = ["--protocol", "simple"]
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    yield {"as_number": 1}
