"""Each transaction notifies listeners: PostgreSQL lets one transaction at a time commit that has notifications."""

import contextlib

import servers

TITLE = "each commit notifies listeners"
CONNECTIONS = 8
FINDINGS = {"db-lock-waits": "database", "db-hot-object": "database"}
PARTS = {"lock"}
WORKLOAD = """
about = "an event is stored, with a notification where asked"
[options]
tell = { value = 1, about = "1: notifies listeners" }
[[table]]
name = "event"
rows = "1000"
columns = [["id", "row + 1"], ["note", "letters(40)"]]
create = "CREATE TABLE event (id INTEGER, note VARCHAR(60))"
[[transaction]]
name = "store"
[[transaction.step]]
sql = ["BEGIN", "INSERT INTO event (id, note) VALUES (:{uniform(1, 1000000)}, :{letters(40)})", "SELECT CASE WHEN CAST(:{tell} AS INTEGER) = 1 THEN pg_notify('events', 'stored') END", "COMMIT"]
"""
HEALTHY = {"tell": 0}
SERVERS = {"PostgreSQL": servers.postgres}


@contextlib.contextmanager
def injected(server):
    yield {"tell": 1}
