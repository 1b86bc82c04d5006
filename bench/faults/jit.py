"""Statements are compiled just in time although they are short."""

import contextlib

import servers

TITLE = "just-in-time compilation of short statements"
CONNECTIONS = 2
FINDINGS = {"db-jit"}
PARTS = {"on CPU, user", "on CPU", "on CPU, system"}
WORKLOAD = """
about = "a small report"
[[table]]
name = "sale"
rows = "2000"
columns = [["id", "row + 1"], ["shop", "uniform(1, 20)"], ["amount", "uniform(1, 1000)"]]
create = "CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER, amount INTEGER)"
[[transaction]]
name = "report"
[[transaction.step]]
sql = "SELECT shop, sum(amount * 2), avg(amount + id), count(*) FROM sale WHERE amount > :{uniform(1, 100)} AND id > 3 GROUP BY shop ORDER BY 2"
"""


def with_statements(port):
    server = servers.postgres(port, options=["shared_preload_libraries=pg_stat_statements", "jit=off"])
    server.sql("CREATE EXTENSION pg_stat_statements")
    return server


SERVERS = {"PostgreSQL": with_statements}


@contextlib.contextmanager
def injected(server):
    for name, value in (("jit", "on"), ("jit_above_cost", "0"), ("jit_inline_above_cost", "0"), ("jit_optimize_above_cost", "0")):
        server.sql(f"ALTER ROLE postgres SET {name} = {value}")
    try:
        yield
    finally:
        server.sql("ALTER ROLE postgres RESET ALL")
