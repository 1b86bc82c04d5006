"""Database servers for measurements: each in a separate folder, on a separate port, ended and removed afterwards."""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from common import measure, need


def as_user(user, argv):
    """The words that run a program as another user when this one is root, which servers do not want to be."""
    own = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if os.getuid() == 0 else []
    return [str(word) for word in own + argv]


TEMPLATES = {}


def fresh_data(user, make, data):
    """Fills the folder `data` as `make` does; what it makes is kept while this program runs, and copied from the second time on."""
    template = TEMPLATES.get(user)
    if template is None:
        template = TEMPLATES[user] = pathlib.Path(tempfile.mkdtemp(prefix="fenxi-bench-template-")) / "data"
        template.parent.chmod(0o777)
        atexit.register(shutil.rmtree, template.parent, ignore_errors=True)
        measure(as_user(user, make(template)))
    measure(as_user(user, ["cp", "-a", "--reflink=auto", template, data]))


class Server:
    """A server in a separate folder, which goes with it."""

    def __init__(self, name, scheme, user, database, port, folder=None):
        self.name, self.user, self.database, self.port = name, user, database, port
        self.url = f"{scheme}://{user}@127.0.0.1:{port}/{database}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fenxi-bench-", dir=folder))
        self.folder.chmod(0o777)
        self.at_end = []

    def start(self, argv, ready, env=None):
        log = open(self.folder / "log", "w")
        env = dict(os.environ, **env) if env else None
        self.process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
        for _ in range(300):
            if subprocess.run(ready, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return self
            time.sleep(0.1)
        sys.exit(f"bench: {self.name} does not start\n{(self.folder / 'log').read_text()}")

    def sql(self, text):
        """Runs statements of the server's own client."""
        measure([*self.client, text])

    def stop(self):
        self.process.send_signal(self.stops_with)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        for work in self.at_end:
            work()


def postgres(port, connections=200, options=(), env=None, folder=None):
    """PostgreSQL, the newest that is installed; its files below `folder`."""
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        sys.exit("bench: PostgreSQL is missing: it is Debian's `postgresql`")
    server = Server("PostgreSQL", "postgres", "postgres", "postgres", port, folder)
    server.stops_with = 2
    server.client = [programs[-1] / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-c"]
    data = server.folder / "data"
    fresh_data("postgres", lambda data: [programs[-1] / "initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-D", data], data)
    argv = [programs[-1] / "postgres", "-D", data, "-p", port, "-k", server.folder, "-c", "listen_addresses=127.0.0.1",
            "-c", f"max_connections={connections}", "-c", "shared_buffers=512MB"]
    for option in options:
        argv += ["-c", option]
    ready = [programs[-1] / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
    return server.start(as_user("postgres", argv), ready, env)


def mariadb(port, connections=200, options=(), env=None, folder=None):
    """MariaDB as Debian has it; its files below `folder`."""
    need("mariadbd", "it is Debian's `mariadb-server`")
    server = Server("MariaDB", "mysql", "root", "test", port, folder)
    server.stops_with = 15
    data, socket = server.folder / "data", server.folder / "my.sock"
    server.client = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "test", "-e"]
    fresh_data("mysql", lambda data: ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                                      "--auth-root-authentication-method=normal"], data)
    argv = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--bind-address=127.0.0.1",
            f"--port={port}", "--skip-name-resolve", "--local-infile=1", f"--max-connections={connections}", "--back-log=1000",
            "--innodb-buffer-pool-size=512M", *options]
    server.start(as_user("mysql", argv), ["mariadb-admin", "--no-defaults", f"--socket={socket}", "-uroot", "ping"], env)
    measure(["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "-e", "CREATE DATABASE test"])
    return server
