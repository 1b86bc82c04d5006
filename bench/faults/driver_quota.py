"""The load generator has a part of a CPU only."""

import contextlib

import cpu_quota
import program_quota
import server_neighbour
import servers

TITLE = "the load generator is the limit"
CONNECTIONS = 8
FINDINGS = {"cgroup-throttled", "load-driver-saturated"}
WORKLOAD = server_neighbour.WORKLOAD


def with_group(start):
    def started(port):
        server = start(port)
        server.within = program_quota.inside([])
        return server

    return started


SERVERS = {"PostgreSQL": with_group(servers.postgres), "MariaDB": with_group(servers.mariadb)}


@contextlib.contextmanager
def injected(server):
    with cpu_quota.limited(cpu_quota.quota_of(cpu_quota.group_of(program_quota.PORT))):
        yield
