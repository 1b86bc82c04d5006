-- title: Transactions are open longer than they work
-- severity: info
-- section: database
-- message: Sessions of {server} were idle in a transaction {idle:s} per second, and at work {active:s}.
-- advice: Most of a transaction's time is the client's: network round trips, or work of the application between statements. Fewer round trips (batches, procedures) and shorter transactions free locks and connections; more database hardware will not help.
-- ask: db-sessions
-- part: idle in transaction
-- world: database
-- yes: db server=localhost database=shop idle_in_transaction_time=3.04 db_time=2.35 *60
-- no: db server=localhost database=shop idle_in_transaction_time=3.04 db_time=8 *60
--
-- no: db server=localhost database=shop idle_in_transaction_time=0.3 db_time=0.1 *60
-- One session, and no less than the active time as the server counts both (PostgreSQL 14 and later).
SELECT run, host, server, idle_in_transaction_time AS idle, db_server.db_time AS active
FROM db_server
WHERE idle_in_transaction_time >= 1 AND idle_in_transaction_time >= db_server.db_time AND seen_s >= 5
ORDER BY idle DESC, run, host, server
