"""A prepared transaction that its coordinator has forgotten for a while holds locks, and no session has it."""

import contextlib
import threading

import idle_blocker
import servers

TITLE = "a prepared transaction holds locks"
CONNECTIONS = 8
FINDINGS = {"db-idle-blocks": "prepared", "db-idle-holds": "prepared", "db-lock-waits": "prepared", "db-blocking-chain": "prepared"}
PARTS = {"lock"}
WORKLOAD = idle_blocker.WORKLOAD
SERVERS = {"PostgreSQL": lambda port: servers.postgres(port, options=["max_prepared_transactions=4"])}


@contextlib.contextmanager
def injected(server):
    ended = threading.Event()

    def hold():
        while not ended.is_set():
            server.sql("BEGIN; UPDATE item SET stock = stock WHERE id <= 500; PREPARE TRANSACTION 'transfer 7'")
            ended.wait(2)
            server.sql("COMMIT PREPARED 'transfer 7'")
            ended.wait(0.5)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        yield
    finally:
        ended.set()
        holding.join()
