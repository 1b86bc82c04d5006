"""What goes on beside a load on a database server: another session over and over, or a program; and servers that count statements."""

import contextlib
import os
import shlex
import signal
import subprocess

import servers


@contextlib.contextmanager
def loop(script):
    """A line of shell over and over, as a separate program that ends with all it began."""
    running = subprocess.Popen(["bash", "-c", f"while :; do {script}; done"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


@contextlib.contextmanager
def burners(for_each_cpu=1, around=list):
    """Programs that compute, so many for each CPU; `around` gives the words that run the words of one."""
    number = for_each_cpu * (os.cpu_count() or 1)
    all_of = [subprocess.Popen(around(["sh", "-c", "while :; do :; done"])) for _ in range(number)]
    try:
        yield
    finally:
        for burner in all_of:
            burner.kill()
            burner.wait()


def client(server):
    """The words of the server's own client, which reads statements from its standard input. On MariaDB, which knows no names of
    applications, it has a separate user."""
    words = [str(word) for word in server.client[:-1]]
    if server.name == "MariaDB":
        server.sql("CREATE USER IF NOT EXISTS report@localhost; GRANT ALL ON *.* TO report@localhost")
    return ["-ureport" if word == "-uroot" else word for word in words]


@contextlib.contextmanager
def statements(server, text, pause=0.0):
    """Another session that executes `text`, with a pause between, as a report or a job does."""
    with loop(f"while echo {shlex.quote(text + ';')}; do sleep {pause}; done | {shlex.join(client(server))}"):
        yield


def counting(port, *options):
    """PostgreSQL that counts statements, also those that functions run."""
    words = ["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all", *options]
    server = servers.postgres(port, options=words)
    server.sql("CREATE EXTENSION pg_stat_statements")
    return server


def mariadb_counting(port, *options):
    """MariaDB that counts statements by digest: those that are not prepared."""
    return servers.mariadb(port, options=["--performance-schema=ON", *options])


# What makes a driver send statements that MariaDB counts.
SIMPLE = ["--protocol", "simple"]
