"""What tools of the system see of a load, without our recorder: vmstat, iostat, pidstat and mpstat of sysstat and procps, and the counters of the
database server each second, asked by its own client. Their files become a run by `fenxi import`, as anybody's would."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time

from common import FENXI, Skipped, measure

TOOLS = {
    "vmstat.txt": ["vmstat", "-t", "-n", "1"],
    "mpstat.txt": ["mpstat", "-P", "ALL", "1"],
    "iostat.txt": ["iostat", "-x", "-t", "1"],
    "pidstat.txt": ["pidstat", "-u", "-d", "-w", "-r", "-h", "-l", "1"],
}
# What a person who knows PostgreSQL asks each second: counters of the database, and sessions that are not idle.
COUNTERS = ("xact_commit", "xact_rollback", "blks_hit", "blks_read", "tup_returned", "tup_fetched", "tup_inserted", "tup_updated", "tup_deleted", "temp_bytes", "deadlocks", "sessions")
COUNTED = f"SELECT extract(epoch FROM clock_timestamp()) AS time, datname, numbackends, {', '.join(COUNTERS)} FROM pg_stat_database WHERE datname = current_database()"
ACTIVE = ("SELECT extract(epoch FROM clock_timestamp()) AS time, pid, usename, application_name, state, wait_event_type, wait_event, left(query, 100) AS query, "
          "coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0) AS age FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
COLUMNS = {"xact_commit": "commits_per_s", "xact_rollback": "rollbacks_per_s", "blks_hit": "cache_hits_per_s", "blks_read": "cache_misses_per_s", "tup_returned": "rows_returned_per_s",
           "tup_fetched": "rows_fetched_per_s", "tup_inserted": "rows_inserted_per_s", "tup_updated": "rows_updated_per_s", "tup_deleted": "rows_deleted_per_s", "temp_bytes": "temp_bytes_per_s", "deadlocks": "deadlocks", "sessions": "connects_per_s"}
MAPPING = """
labels = { datname = "database", pid = "session", usename = "user", application_name = "application", state = "state", wait_event_type = "wait_class", wait_event = "wait_event", query = "statement" }
others = "ignore"
[time]
column = "time"
format = "epoch"
[[value]]
column = "numbackends"
table = "db"
to = "sessions"
[[value]]
column = "age"
table = "db_session"
to = "transaction_age_s"
""" + "".join(f'[[value]]\ncolumn = "{ours}"\ntable = "db"\nto = "{theirs}"\ncumulative = true\n' for ours, theirs in COLUMNS.items())


def ask(server, folder, ended):
    """Asks PostgreSQL each second, a file for each question."""
    client = [*map(str, server.client[:1]), "--csv", *map(str, server.client[2:])]
    while not ended.is_set():
        for name, text in (("database.csv", COUNTED), ("sessions.csv", ACTIVE)):
            path = folder / name
            told = subprocess.run([*client, text], capture_output=True, text=True).stdout.splitlines(keepends=True)
            with open(path, "a") as file:
                file.writelines(told[path.exists() and path.stat().st_size > 0:])
        ended.wait(1)


@contextlib.contextmanager
def asked(server, folder):
    """The server's counters, as long as this is entered."""
    if server is None:
        yield
    elif server.name == "MariaDB":
        socket = server.folder / "my.sock"
        with open(folder / "status.txt", "w") as file:
            tool = subprocess.Popen(["mariadb-admin", "--no-defaults", f"--socket={socket}", "-uroot", "-i1", "extended-status"], stdout=file, stderr=subprocess.DEVNULL)
            try:
                yield
            finally:
                tool.terminate()
                tool.wait()
    else:
        ended = threading.Event()
        asking = threading.Thread(target=ask, args=(server, folder, ended))
        asking.start()
        try:
            yield
        finally:
            ended.set()
            asking.join()


def watch(folder, argv, server=None):
    """Runs `argv` while the tools write into `folder`."""
    for words in TOOLS.values():
        if not shutil.which(words[0]):
            raise Skipped(f"{words[0]} is missing")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder.parent / f"{folder.name}.began").write_text(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    # Dates and times that everybody reads.
    env = dict(os.environ, LC_ALL="C", S_TIME_FORMAT="ISO", TZ="UTC")
    files = {file: open(folder / file, "w") for file in TOOLS}
    # A shell has background jobs ignore the signal that ends these tools.
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    tools = [subprocess.Popen(words, stdout=files[file], stderr=subprocess.DEVNULL, env=env, preexec_fn=heed) for file, words in TOOLS.items()]
    try:
        with asked(server, folder):
            measure(argv)
    finally:
        for tool in tools:
            tool.send_signal(signal.SIGINT)
            tool.wait()
        for file in files.values():
            file.close()


def bring_in(store, folder):
    """Imports what the tools wrote into `folder`, as a run with its name."""
    mapping = folder.parent / "postgres.toml"
    mapping.write_text(MAPPING)
    began = (folder.parent / f"{folder.name}.began").read_text()
    measure([FENXI, "--store", store, "import", folder, "--map", mapping, "--name", folder.name, "--start", began, "--zone", "UTC", "--quiet"])
