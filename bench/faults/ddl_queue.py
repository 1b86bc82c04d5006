"""A change of the schema waits for a long transaction, and everybody waits behind the change."""

import contextlib
import subprocess
import threading

import idle_blocker
import servers

TITLE = "a change of the schema waits, and others behind it"
CONNECTIONS = 8
FINDINGS = {"db-ddl-queue", "db-idle-blocks", "db-blocking-chain"}
PARTS = {"lock"}
WORKLOAD = idle_blocker.WORKLOAD
SERVERS = {"PostgreSQL": servers.postgres, "MariaDB": servers.mariadb}


@contextlib.contextmanager
def injected(server):
    ended = threading.Event()
    reader, changer = idle_blocker.session(server), idle_blocker.session(server)

    def say(client, text):
        client.stdin.write(text)
        client.stdin.flush()

    def hold():
        number = 0
        while not ended.is_set():
            number += 1
            say(reader, "BEGIN;\nSELECT count(*) FROM item;\n")
            ended.wait(0.2)
            say(changer, f"ALTER TABLE item ADD COLUMN note{number} INTEGER;\n")
            ended.wait(1.5)
            say(reader, "COMMIT;\n")
            ended.wait(0.4)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        yield
    finally:
        ended.set()
        holding.join()
        for client in (reader, changer):
            client.stdin.close()
            client.wait()
