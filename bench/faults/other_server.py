"""A statement asks another server, which takes its time; before, it reads a table."""

import contextlib

import servers

TITLE = "a database waits for another server"
CONNECTIONS = 8
FINDINGS = {"db-extension-waits"}
WORKLOAD = """
about = "rates of a currency"
[[table]]
name = "rate"
rows = "1000"
columns = [["id", "row + 1"], ["value", "uniform(1, 1000)"]]
create = "CREATE TABLE rate (id INTEGER PRIMARY KEY, value INTEGER)"
[[transaction]]
name = "rate"
[[transaction.step]]
sql = "SELECT current_rate(:{uniform(1, 1000)})"
"""
LOCAL = "CREATE OR REPLACE FUNCTION current_rate(wanted INTEGER) RETURNS INTEGER LANGUAGE sql AS 'SELECT value FROM rate WHERE id = wanted'"
AWAY = ("CREATE OR REPLACE FUNCTION current_rate(wanted INTEGER) RETURNS INTEGER LANGUAGE sql AS $$ SELECT value FROM dblink('away', "
        "'SELECT pg_sleep(0.02), value FROM rate WHERE id = ' || wanted) AS far(slept TEXT, value INTEGER) $$")


def postgres(port):
    server, far = servers.postgres(port), servers.postgres(port + 1)
    server.at_end.append(far.stop)
    far.sql("CREATE TABLE rate AS SELECT id, id % 977 AS value FROM generate_series(1, 1000) AS id; ALTER TABLE rate ADD PRIMARY KEY (id)")
    server.sql("CREATE EXTENSION IF NOT EXISTS dblink")
    server.sql("CREATE EXTENSION IF NOT EXISTS postgres_fdw")
    server.sql(f"CREATE SERVER away FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '127.0.0.1', port '{port + 1}', dbname 'postgres')")
    server.sql("CREATE USER MAPPING FOR postgres SERVER away OPTIONS (user 'postgres')")
    server.sql("SET check_function_bodies = off; " + LOCAL)
    return server


SERVERS = {"PostgreSQL": postgres}


@contextlib.contextmanager
def injected(server):
    server.sql(AWAY)
    try:
        yield
    finally:
        server.sql(LOCAL)
