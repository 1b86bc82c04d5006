"""Vacuum and analyze run all the time, without a pause; before, as usual."""

import contextlib

import backup
import beside
import servers

TITLE = "vacuum runs all the time"
CONNECTIONS = 2
FINDINGS = {"db-vacuum-storm": "", "db-other-application": "psql"}
WORKLOAD = backup.WORKLOAD.replace("SELECT name FROM item", "UPDATE item SET name = 'new'")
STORM = {"autovacuum_naptime": "1s", "autovacuum_vacuum_cost_delay": "0", "autovacuum_vacuum_threshold": "1", "autovacuum_vacuum_scale_factor": "0",
         "autovacuum_analyze_threshold": "1", "autovacuum_analyze_scale_factor": "0"}


def named(way):
    def started(port):
        server = servers.postgres(port, options=["synchronous_commit=off"])
        server.way = way
        return server

    return started


SERVERS = {way: named(way) for way in ("autovacuum", "a job")}


@contextlib.contextmanager
def injected(server):
    if server.way == "a job":
        with beside.statements(server, "VACUUM (ANALYZE, FREEZE) item"):
            yield
        return
    for name, value in STORM.items():
        server.sql(f"ALTER SYSTEM SET {name} = '{value}'")
    server.sql("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        server.sql("ALTER SYSTEM RESET ALL")
        server.sql("SELECT pg_reload_conf()")
