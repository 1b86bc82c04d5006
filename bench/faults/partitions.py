"""A query that names no partition: it is planned over all of them. Before, there are few."""

import contextlib

import beside

TITLE = "a query plans over all partitions"
CONNECTIONS = 2
FINDINGS = {"db-planning"}
WORKLOAD = '''
about = "measurements of a sensor, kept by day"
[options]
days = { value = 1, about = "1: the day is asked for" }
[[table]]
name = "mark"
rows = "10"
columns = [["id", "row + 1"]]
create = "CREATE TABLE mark (id INTEGER PRIMARY KEY)"
after = ["""DO $$ BEGIN
    CREATE TABLE measure (day INTEGER, sensor INTEGER, value INTEGER) PARTITION BY LIST (day);
    FOR d IN 1..300 LOOP EXECUTE format('CREATE TABLE measure_%s PARTITION OF measure FOR VALUES IN (%s)', d, d); END LOOP;
    INSERT INTO measure SELECT d, s, d + s FROM generate_series(1, 300) d, generate_series(1, 20) s;
    CREATE INDEX measure_sensor ON measure (sensor);
END $$"""]
[[transaction]]
name = "look"
[[transaction.step]]
when = "days == 1"
sql = "SELECT sum(value) FROM measure WHERE sensor = :{uniform(1, 20)} AND day = 7"
[[transaction.step]]
when = "days == 0"
sql = "SELECT sum(value) FROM measure WHERE sensor = :{uniform(1, 20)} AND value = 308"
'''
HEALTHY = {"days": 1}
ARGUMENTS = ["--protocol", "simple"]
SERVERS = {"PostgreSQL": lambda port: beside.counting(port, "pg_stat_statements.track_planning=on"), "PostgreSQL, planning not counted": beside.counting}


@contextlib.contextmanager
def injected(server):
    yield {"days": 0}
