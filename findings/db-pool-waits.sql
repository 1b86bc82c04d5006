-- title: Clients wait in the queue of a pool
-- severity: warning
-- section: database
-- message: In pool {pool} of {server} {waiting} clients waited on average, the first of the queue for up to {longest:s}, {state}.
-- advice: If all connections are used and the database has idle CPUs, enlarge the pool (default_pool_size, pool_size; thread_pool_size of MariaDB); if sessions in it are idle in a transaction or wait for locks, shorten transactions: a larger pool would only move the queue into the database. Mistaken for a slow database, whose own figures look well.
-- ask: db-pools
-- part: waiting in a pool
-- impact: share of the time of its clients
-- world: database
-- yes: db_pool server=localhost:6432 database=shop user=web clients_active=5 clients_waiting=12 servers_active=5 servers_idle=0 size_limit=5 first_wait_s=0.4 *40
-- yes: db_pool server=localhost:6432 database=shop transactions_per_s=50 wait_time=12 transaction_time=5 *40
-- no: db_pool server=localhost:6432 database=shop user=web clients_active=5 clients_waiting=0 servers_active=3 servers_idle=2 size_limit=5 first_wait_s=0 *40
--
-- no: db_pool server=localhost:6432 database=shop user=web clients_active=5 clients_waiting=0 servers_active=3 servers_idle=2 size_limit=5 first_wait_s=0 *38
-- no: db_pool server=localhost:6432 database=shop user=web clients_active=5 clients_waiting=9 servers_active=5 servers_idle=0 size_limit=5 first_wait_s=0.2 @38
--
-- no: db_pool server=localhost:6432 database=shop user=web clients_active=5 clients_waiting=12 servers_active=5 servers_idle=0 size_limit=5 first_wait_s=0.4 *3
--
-- yes: db_pool server=localhost:3306 database=threads mode=statement clients_waiting=5 servers_active=1 size_limit=1 first_wait_s=0.04 wait_time=5 transaction_time=1 *20
-- no: db_pool server=localhost:3306 database=threads mode=statement clients_waiting=0 servers_active=1 size_limit=8 first_wait_s=0 wait_time=0 transaction_time=1 *20
-- One client all the time, or the first of the queue for a second on average; critical from twenty clients or 15 s on (the mixin of
-- Grafana). A burst of a second is none. The time of clients is their waits and their transactions.
WITH pools AS (
    SELECT run, host, server, p.database AS name_of, p.user AS user_name, wmean(clients_waiting, dt) AS waiting, max(first_wait_s) AS longest, wmean(first_wait_s, dt) AS first_s,
        wmean(servers_active, dt) AS used, max(size_limit) AS size, sum(dt) AS seen_s, bool_or(p.user IS NULL) AS is_threads
    FROM db_pool p WHERE p.clients_waiting IS NOT NULL GROUP BY run, host, server, p.database, p.user
), times AS (
    SELECT run, host, server, p.database AS name_of, wmean(p.wait_time, dt) AS waited, wmean(p.transaction_time, dt) AS worked
    FROM db_pool p WHERE p.user IS NULL GROUP BY run, host, server, p.database
)
SELECT p.run, p.host, p.server, concat_ws(' of ', p.name_of, p.user_name) AS pool, p.waiting, p.longest,
    CASE WHEN is_threads THEN concat('with one thread at a time in each group of threads (thread_pool_size is ', CAST(p.size AS BIGINT), ')')
    ELSE concat('while ', round(p.used, 1), ' of ', coalesce(CAST(CAST(p.size AS BIGINT) AS VARCHAR), 'an unknown number of'), ' connections were used') END AS state,
    coalesce(100 * t.waited / nullif(t.waited + t.worked, 0), 0) AS share, CASE WHEN p.waiting > 20 OR p.first_s >= 15 THEN 'critical' ELSE 'warning' END AS severity
FROM pools p
LEFT JOIN times t ON t.run = p.run AND t.host = p.host AND t.server IS NOT DISTINCT FROM p.server AND t.name_of IS NOT DISTINCT FROM p.name_of
WHERE (p.waiting >= 1 OR p.first_s >= 1) AND p.seen_s >= 5
ORDER BY p.waiting DESC, p.run, p.host, p.server, pool
