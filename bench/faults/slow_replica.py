"""Commits wait for a replica that is slow to confirm; before, it confirms at once."""

import contextlib
import pathlib
import signal
import subprocess
import threading

import servers
import slow_flush

TITLE = "commits wait for a slow replica"
CONNECTIONS = 8
FINDINGS = {"db-replica-wait", "db-commit-wait", "db-replica-late"}
PARTS = {"commit"}
WORKLOAD = slow_flush.WORKLOAD


def with_receiver(port):
    """A server whose commits wait until a receiver of its log has them."""
    server = servers.postgres(port)
    folder = server.folder / "received"
    folder.mkdir()
    folder.chmod(0o777)
    program = pathlib.Path(server.client[0]).parent / "pg_receivewal"
    words = [program, "-D", folder, "--synchronous", "-h", "127.0.0.1", "-p", port, "-U", "postgres"]
    server.receiver = subprocess.Popen(servers.as_user("postgres", words), env={"PGAPPNAME": "receiver", "PATH": "/usr/bin:/bin"}, stderr=subprocess.DEVNULL)
    server.sql("ALTER SYSTEM SET synchronous_standby_names = 'receiver'")
    server.sql("SELECT pg_reload_conf()")

    def end():
        server.receiver.send_signal(signal.SIGCONT)
        server.receiver.kill()
        server.receiver.wait()

    stop = server.stop
    server.stop = lambda: (end(), stop())
    return server


SERVERS = {"PostgreSQL": with_receiver}


@contextlib.contextmanager
def injected(server):
    ended = threading.Event()

    def hold_up():
        while not ended.is_set():
            server.receiver.send_signal(signal.SIGSTOP)
            ended.wait(0.02)
            server.receiver.send_signal(signal.SIGCONT)
            ended.wait(0.005)

    holding = threading.Thread(target=hold_up)
    holding.start()
    try:
        yield
    finally:
        ended.set()
        holding.join()
