-- title: Samples of sessions miss most of the load
-- severity: info
-- section: database
-- message: Samples saw {sampled} active sessions of {server} on average, which itself counted {counted}.
-- advice: Statements are shorter than the sampler's own wait for a CPU. Trust the kernel's CPU time and the statements' times; samples only split the rest.
-- ask: db-activity
-- world: database
-- yes: db server=localhost samples=10 active_sampled=0.3 *40
-- yes: db server=localhost database=shop db_time=1.0 *40
-- no: db server=localhost samples=10 active_sampled=0.9 *40
-- no: db server=localhost database=shop db_time=1.0 *40
--
-- no: db server=localhost samples=10 active_sampled=0.02 *40
-- no: db server=localhost database=shop db_time=0.1 *40
-- Half, with a fifth of a session. Measured with pgbench -S on two CPUs: 0.18 to 0.5 of 1.00.
WITH sampled AS (
    SELECT run, host, server, wmean(active_sampled, dt) AS sampled, sum(dt) AS seen_s FROM db d WHERE d.database IS NULL AND samples > 0 GROUP BY run, host, server
), counted AS (
    SELECT run, host, server, steady(sum(mean)) AS counted
    FROM (SELECT run, host, server, d.database AS name_of, wmean(d.db_time, dt) AS mean FROM db d WHERE d.database IS NOT NULL GROUP BY run, host, server, d.database)
    GROUP BY run, host, server
)
SELECT s.run, s.host, s.server, s.sampled, c.counted
FROM sampled s
JOIN counted c ON c.run = s.run AND c.host = s.host AND c.server IS NOT DISTINCT FROM s.server
WHERE s.sampled < 0.5 * c.counted AND c.counted >= 0.2 AND s.seen_s >= 5
ORDER BY c.counted DESC, s.run, s.host, s.server
