-- title: Transactions spend their time between driver and server
-- severity: warning
-- section: network
-- says: Of {latency:ms} of a transaction, {outside:ms} are neither in the server nor in the driver: {each:ms} for each statement and its answer.
-- advice: The server is far, or something between them is slow (a proxy, a pooler, a tunnel): measure a round trip with ping or `SELECT 1`. Fewer round trips help most: several rows a statement, procedures, pipelining, fewer statements for the same work.
-- ask: db-round-trip
-- impact: share of the latency
-- explains: db-client-slow, db-idle-in-transaction
-- yes: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- yes: db server=far samples=10 *20
-- yes: db_session server=far session=1 kind=client activity=cpu state=active dt=0.1 *20
-- yes: process pid=5 comm=fenxi cpu=10 run_queue_wait=1 *20
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- no: db server=far samples=10 *20
-- no: db_session server=far session=1 kind=client activity=cpu state=active dt=1 *20
-- no: db_session server=far session=2 kind=client activity=cpu state=active dt=1 *20
-- no: db_session server=far session=3 kind=client activity=lock state=active dt=1 *20
-- no: db_session server=far session=4 kind=client activity=lock state=active dt=1 *20
-- no: process pid=5 comm=fenxi cpu=10 run_queue_wait=1 *20
--
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- no: db server=far samples=10 *20
-- no: db_session server=far session=1 kind=client activity=cpu state=active dt=0.1 *20
-- no: process pid=5 comm=fenxi cpu=100 run_queue_wait=150 *20
--
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
--
-- no: load generator=g clients=8 transactions_per_s=4000 requests_per_s=20000 latency_mean_ms=2 *20
-- no: db server=far samples=10 *20
-- no: db_session server=far session=1 kind=client activity=cpu state=active dt=1 *20
-- no: process pid=5 comm=fenxi cpu=10 run_queue_wait=1 *20
--
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- no: db server=near samples=10 *20
-- no: db_session server=near session=1 kind=client activity=cpu state=active dt=0.1 *20
-- no: db_wait server=near activity=cpu wait_event=cpu kind=client measured=os time=0.5 *20
-- no: db_wait server=near activity="run queue" wait_event="run queue" kind=client measured=os time=5 *20
-- no: process pid=5 comm=fenxi cpu=10 run_queue_wait=1 *20
-- By Little's law: transactions in flight (rate times latency) less the sessions at work in the server and the threads of the driver that
-- run or wait for a CPU. Samples miss most of a server that waits for a CPU, which the kernel tells where it runs on a host that is
-- recorded. Half of the latency, and half a millisecond for each statement: on one host a round trip takes a tenth of it. A
-- driver that works for half a thread may keep all connections waiting, and think time within a transaction is its own: then nothing is said.
WITH loads AS (
    SELECT run, host, sum(transactions_per_s * dt) / sum(dt) AS rate, sum(latency_mean_ms * transactions_per_s * dt) / sum(transactions_per_s * dt) AS latency,
        sum(coalesce(requests_per_s, transactions_per_s) * dt) / sum(transactions_per_s * dt) AS statements, sum(dt) AS seen_s
    FROM load WHERE operation IS NULL AND transactions_per_s > 0 AND latency_mean_ms IS NOT NULL
    GROUP BY run, host HAVING count(DISTINCT generator) = 1
        AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run = load.run AND r.params['think_us'] <> '0')
), servers AS (
    SELECT run, host, sum(sessions) FILTER (in_db_time) AS at_work FROM db_session_share GROUP BY run, host HAVING count(DISTINCT server) = 1
), measured AS (
    SELECT run, host, sum(sessions) FILTER (in_db_time) AS at_work FROM db_best_wait GROUP BY run, host HAVING count(DISTINCT server) = 1
), drivers AS (
    SELECT p.run, p.host, sum((cpu + coalesce(run_queue_wait, 0)) * dt) / 100 AS worked
    FROM process p WHERE comm IN ('fenxi', 'pgbench', 'sysbench', 'mysqlslap') GROUP BY p.run, p.host
), split AS (
    SELECT l.*, l.rate * l.latency / 1000 AS in_flight, greatest(coalesce(s.at_work, 0), coalesce(m.at_work, 0)) AS at_work, d.worked / l.seen_s AS driving
    FROM loads l
    JOIN servers s ON s.run = l.run AND s.host = l.host
    LEFT JOIN measured m ON m.run = l.run AND m.host = l.host
    JOIN drivers d ON d.run = l.run AND d.host = l.host
)
SELECT run, host, latency, 1000 * (in_flight - at_work - driving) / rate AS outside, 1000 * (in_flight - at_work - driving) / rate / statements AS each, 100 * (in_flight - at_work - driving) / in_flight AS share
FROM split
WHERE in_flight - at_work - driving >= 0.5 * in_flight AND 1000 * (in_flight - at_work - driving) / rate / statements >= 0.5 AND driving <= greatest(0.5, 0.05 * in_flight) AND seen_s >= 3
ORDER BY share DESC, run, host
