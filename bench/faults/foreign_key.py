"""A foreign key without an index: each delete of a parent reads all of the children; before, there is an index."""

import contextlib

import beside

TITLE = "a foreign key without an index"
CONNECTIONS = 2
FINDINGS = {"db-foreign-key-scan", "db-full-scans"}
PARTS = {"on CPU, user", "on CPU", "run queue"}
TEXT = """
about = "customers come and go"
[[table]]
name = "customer"
rows = "2000"
columns = [["id", "row"], ["name", "letters(20)"]]
create = "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(40))"
[[table]]
name = "purchase"
rows = "60000"
columns = [["id", "row + 1"], ["customer", "row % 2000 + 1"], ["note", "letters(30)"]]
create = "CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, note VARCHAR(60))"
after = ["CREATE INDEX purchase_customer ON purchase (customer)", "ALTER TABLE purchase ADD FOREIGN KEY (customer) REFERENCES customer (id) ACTION"]
[[transaction]]
name = "come and go"
[[transaction.step]]
let = ["customer := uniform(1000000, 2000000000)"]
sql = ["INSERT INTO customer (id, name) VALUES (:customer, 'x')", "DELETE FROM customer WHERE id = :customer"]
"""
WORKLOADS = {"PostgreSQL": TEXT.replace("ACTION", ""), "PostgreSQL, cascades": TEXT.replace("ACTION", "ON DELETE CASCADE")}
SERVERS = {"PostgreSQL": beside.counting, "PostgreSQL, cascades": beside.counting}


@contextlib.contextmanager
def injected(server):
    server.sql("DROP INDEX purchase_customer")
    try:
        yield
    finally:
        server.sql("CREATE INDEX purchase_customer ON purchase (customer)")
