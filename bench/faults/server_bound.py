"""A database server that may use one CPU only, by its affinity."""

import contextlib
import os
import subprocess

import server_neighbour
import servers

TITLE = "a server is bound to one CPU"
CONNECTIONS = 8
FINDINGS = {"bound-to-cpus": "", "one-cpu-saturated": "this one only"}
PARTS = {"run queue"}
WORKLOAD = server_neighbour.WORKLOAD
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


def bind(server, cpus):
    children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True).stdout.split()
    for pid in [str(server.process.pid), *children]:
        subprocess.run(["taskset", "-acp", cpus, pid], capture_output=True)


@contextlib.contextmanager
def injected(server):
    bind(server, "0")
    try:
        yield
    finally:
        bind(server, f"0-{(os.cpu_count() or 1) - 1}")
