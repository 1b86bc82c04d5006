"""A trigger that does far more than the statement that fires it; before, there is none."""

import contextlib

import beside

TITLE = "hidden work of a trigger"
CONNECTIONS = 2
FINDINGS = {"db-nested-statements", "db-rows-examined"}
PARTS = {"on CPU, user", "on CPU", "run queue", "commit"}
WORKLOAD = """
about = "sales"
[[table]]
name = "sale"
rows = "20000"
columns = [["id", "row + 1"], ["shop", "row % 5 + 1"], ["amount", "uniform(1, 1000)"]]
create = "CREATE TABLE sale (id INTEGER NOT NULL, shop INTEGER NOT NULL, amount INTEGER NOT NULL)"
after = ["CREATE INDEX sale_shop ON sale (shop)", "CREATE TABLE audit (shop INTEGER, amount BIGINT)"]
[[transaction]]
name = "sale"
[[transaction.step]]
sql = "INSERT INTO sale (id, shop, amount) VALUES (:{uniform(100000, 2000000000)}, :{uniform(1, 5)}, 7)"
"""
WORK = "INSERT INTO audit SELECT NEW.shop, sum(amount) FROM sale WHERE shop = NEW.shop"
ARGUMENTS_OF = {"MariaDB": beside.SIMPLE}
SERVERS = {"PostgreSQL": lambda port: beside.counting(port, "synchronous_commit=off"), "MariaDB": lambda port: beside.mariadb_counting(port, "--innodb-flush-log-at-trx-commit=2")}


@contextlib.contextmanager
def injected(server):
    if server.name == "MariaDB":
        server.sql(f"CREATE TRIGGER sold AFTER INSERT ON sale FOR EACH ROW {WORK}")
        drop = "DROP TRIGGER sold"
    else:
        server.sql(f"CREATE FUNCTION sold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {WORK}; RETURN NULL; END'")
        server.sql("CREATE TRIGGER sold AFTER INSERT ON sale FOR EACH ROW EXECUTE FUNCTION sold()")
        drop = "DROP TRIGGER sold ON sale"
    try:
        yield
    finally:
        server.sql(drop)
