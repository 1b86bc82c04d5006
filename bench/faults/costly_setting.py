"""A server that writes each statement into its log; before, it does not."""

import contextlib

import backup
import servers

TITLE = "a setting that costs with each statement"
CONNECTIONS = 4
FINDINGS = {"db-costly-settings"}
WORKLOAD = backup.WORKLOAD
SETTINGS = ("log_statement = 'all'", "log_duration = on", "log_min_duration_statement = 0", "log_parser_stats = on", "log_planner_stats = on", "log_executor_stats = on")
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    if server.name == "MariaDB":
        on, off = ["SET GLOBAL general_log = ON, GLOBAL slow_query_log = ON, GLOBAL long_query_time = 0"], ["SET GLOBAL general_log = OFF, GLOBAL slow_query_log = OFF, GLOBAL long_query_time = 10"]
    else:
        on = [f"ALTER SYSTEM SET {setting}" for setting in SETTINGS] + ["SELECT pg_reload_conf()"]
        off = [f"ALTER SYSTEM RESET {setting.split()[0]}" for setting in SETTINGS] + ["SELECT pg_reload_conf()"]
    for text in on:
        server.sql(text)
    try:
        yield
    finally:
        for text in off:
            server.sql(text)
