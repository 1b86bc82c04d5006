"""Each row is changed in a block that catches errors, in many subtransactions, beside a long transaction; before, in one."""

import contextlib

import beside

TITLE = "very many subtransactions"
CONNECTIONS = 8
FINDINGS = {"db-subtransactions"}
SENTENCE = "subtrans"
WORKLOAD = """
about = "a batch of rows"
[[table]]
name = "line"
rows = "100000"
columns = [["id", "row + 1"], ["n", "0"]]
create = "CREATE TABLE line (id INTEGER PRIMARY KEY, n INTEGER)"
[[transaction]]
name = "batch"
[[transaction.step]]
sql = "SELECT batch(:{uniform(1, 99000)})"
"""
BODY = "CREATE OR REPLACE FUNCTION batch(first INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN FOR i IN 0..99 LOOP %s END LOOP; RETURN 1; END $$"
CHANGE = "UPDATE line SET n = n + 1 WHERE id = first + i;"


def server(port):
    server = beside.counting(port, "synchronous_commit=off")
    server.sql("SET check_function_bodies = off; " + BODY % CHANGE)
    return server


SERVERS = {"PostgreSQL": server}


@contextlib.contextmanager
def injected(server):
    server.sql(BODY % f"BEGIN {CHANGE} EXCEPTION WHEN OTHERS THEN RETURN 0; END;")
    with beside.statements(server, "BEGIN; SELECT count(*), txid_current() FROM line; SELECT pg_sleep(3); COMMIT"):
        yield
