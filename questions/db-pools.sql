-- title: How busy were the pools of a connection pooler, or of a server's threads?
-- about: Clients that have a connection to the server, those that wait for one, and connections that are used, against the pool's size; as the console of pgbouncer counts them, or MariaDB its thread pool, where threads are what clients wait for. Waiting clients with idle connections wait for logins to the server; with none idle, the pool is too small or transactions hold connections too long.
-- section: database
-- chart: line
-- x: t
-- y: clients_waiting, clients_active, servers_active, servers_idle, size_limit
-- series: pool
-- order: 62
WITH databases AS (
    SELECT run, host, server, t, p.database AS name_of, transactions_per_s, p.wait_time AS waited, p.transaction_time AS in_transaction, p.statement_time AS in_statement
    FROM db_pool p WHERE p.user IS NULL
)
SELECT p.run, p.host, p.t, p.dt, concat_ws(' ', p.server, concat_ws('/', p.database, p.user)) AS pool, p.clients_waiting, p.clients_active, p.servers_active, p.servers_idle, p.size_limit,
    p.first_wait_s, p.mode, d.transactions_per_s AS transactions_of_database_per_s, d.waited AS waiting_in_database, d.in_transaction, d.in_statement
FROM db_pool p
LEFT JOIN databases d ON d.run = p.run AND d.host = p.host AND d.server IS NOT DISTINCT FROM p.server AND d.t = p.t AND d.name_of IS NOT DISTINCT FROM p.database
WHERE p.clients_waiting IS NOT NULL
ORDER BY p.run, p.host, pool, p.t
