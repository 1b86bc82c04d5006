"""A session that has locked rows and does nothing, as one of an application that waits for somebody: it holds them for two seconds of
each two and a half."""

import contextlib
import subprocess
import threading

import servers

TITLE = "a session that is idle in a transaction holds locks"
CONNECTIONS = 8
FINDINGS = {"db-idle-blocks", "db-idle-holds", "db-idle-in-transaction"}
PARTS = {"lock"}
WORKLOAD = """
about = "an order changes the stock of an item"
[[table]]
name = "item"
rows = "1000"
columns = [["id", "row + 1"], ["stock", "100"]]
create = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL)"
[[transaction]]
name = "order"
[[transaction.step]]
sql = "UPDATE item SET stock = stock - 1 WHERE id = :{uniform(1, 1000)}"
"""
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


def session(server):
    """The server's own client, with statements on its standard input."""
    client = [str(word) for word in server.client[:-1]]
    return subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, bufsize=1)


@contextlib.contextmanager
def injected(server):
    ended = threading.Event()
    client = session(server)

    def hold():
        while not ended.is_set():
            client.stdin.write("BEGIN;\nUPDATE item SET stock = stock WHERE id <= 500;\n")
            client.stdin.flush()
            ended.wait(2)
            client.stdin.write("COMMIT;\n")
            client.stdin.flush()
            ended.wait(0.5)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        yield
    finally:
        ended.set()
        holding.join()
        client.stdin.close()
        client.wait()
