-- Sessions of clients by what they do, from the servers that executed the load: those that did at least a tenth as much a
-- second, or all where that is unknown. A server's own processes are no part of a transaction.
of_db AS (
    SELECT d.run, d.server, d.database, d.t, d.dt, d.samples, d.idle_in_transaction_time AS idle,
        greatest(d.commits_per_s + coalesce(d.rollbacks_per_s, 0), d.statements_per_s) AS done, s.per_s
    FROM db d JOIN span s USING (run)
    WHERE epoch_us(d.t) - coalesce(d.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
),
rates AS (
    SELECT run, server, any_value(per_s) AS per_s,
        coalesce(sum(done * dt) FILTER (WHERE database IS NULL) / sum(dt) FILTER (WHERE database IS NULL AND done IS NOT NULL),
            sum(done * dt) / nullif(sum(dt) FILTER (WHERE done IS NOT NULL), 0)) AS done
    FROM of_db GROUP BY run, server
),
busy AS (SELECT run, server FROM rates WHERE done >= 0.1 * per_s),
of_wait AS (
    SELECT w.run, w.server, coalesce(w.measured, 'server') AS measured, coalesce(w.activity, w.wait_class) AS word, w.t, w.dt,
        w.time
    FROM db_wait w JOIN span s USING (run)
    WHERE epoch_us(w.t) - coalesce(w.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
        AND coalesce(w.kind, 'client') = 'client' AND w.dt > 0
),
-- A class without a session has no row, so that the seconds are those in which it was looked.
looked AS (
    SELECT run, server, measured, sum(dt) AS seconds
    FROM (
        SELECT run, server, measured, t, max(dt) AS dt FROM of_wait GROUP BY ALL
    )
    GROUP BY ALL
),
sampled AS (
    SELECT run, server, sum(dt) AS seconds
    FROM (
        SELECT run, server, t, max(dt) AS dt FROM of_db WHERE samples > 0 GROUP BY ALL
    )
    GROUP BY ALL
),
-- By how much chance moves the mean of sampled waits: the standard error over intervals, those without a wait among them.
noise AS (
    SELECT run, server, sqrt(greatest(0, sum(waiting * waiting) / any_value(n) - pow(sum(waiting) / any_value(n), 2)) / any_value(n)) AS error
    FROM (
        SELECT run, server, t, sum(time) AS waiting FROM of_wait
        WHERE measured = 'sampled' AND lower(word) NOT IN ('cpu', 'protocol', 'idle', 'idle in transaction')
        GROUP BY ALL
    )
    JOIN (SELECT run, server, count(DISTINCT t) AS n FROM of_db WHERE samples > 0 GROUP BY ALL) USING (run, server)
    GROUP BY run, server
),
accounted AS (
    SELECT w.run, w.server, w.measured, w.word,
        sum(w.time * w.dt) / any_value(if(w.measured = 'sampled', coalesce(m.seconds, l.seconds), l.seconds)) AS time
    FROM of_wait w JOIN looked l USING (run, server, measured)
    LEFT JOIN sampled m ON m.run = w.run AND m.server = w.server
    GROUP BY w.run, w.server, w.measured, w.word
    UNION ALL
    -- That there was nothing to see is known, too.
    SELECT run, server, 'sampled', 'idle', 0.0 FROM sampled
    UNION ALL
    SELECT run, server, 'server', 'idle in transaction',
        coalesce(sum(idle * dt) FILTER (WHERE database IS NULL) / sum(dt) FILTER (WHERE database IS NULL AND idle IS NOT NULL),
            sum(of_one))
    FROM (
        SELECT run, server, database, idle, dt,
            if(row_number() OVER same = 1, sum(idle * dt) OVER same / sum(if(idle IS NULL, NULL, dt)) OVER same, NULL) AS of_one
        FROM of_db WINDOW same AS (PARTITION BY run, server, database)
    )
    GROUP BY run, server
),
-- Who else is connected, an application that holds locks, an analyst, a bulk load, is no part of the load's transactions. Sessions of
-- Fenxi's own load have its name; of another one they are those of clients who do a quarter of the work and more.
named AS (
    SELECT d.run, d.server, d.pid, d.tid, d.kind, lower(d.activity) AS word, coalesce(d.application, '') AS application,
        coalesce(d.user, '') AS name_of, coalesce(d.client, '') AS address
    FROM db_session d JOIN span s USING (run)
    WHERE d.activity IS NOT NULL AND (coalesce(d.kind, 'client') LIKE 'client%' OR d.kind = 'parallel worker')
        AND epoch_us(d.t) BETWEEN s.begin_us AND s.end_us
),
clients AS (
    SELECT run, server, application, name_of, address, word, count(*) AS samples
    FROM named WHERE coalesce(kind, 'client') LIKE 'client%'
    GROUP BY ALL
),
works AS (
    SELECT *, CASE WHEN bool_or(application = 'fenxi') OVER (PARTITION BY run, server) THEN application = 'fenxi'
        ELSE sum(samples) FILTER (word NOT IN ('idle', 'idle in transaction')) OVER (PARTITION BY run, server, application, name_of, address)
            >= 0.25 * sum(samples) FILTER (word NOT IN ('idle', 'idle in transaction')) OVER (PARTITION BY run, server) END AS is_load
    FROM clients
),
shares AS (
    SELECT run, server, word, coalesce(sum(samples) FILTER (is_load), 0) / sum(samples) AS of_load FROM works GROUP BY run, server, word
),
-- Where each session has its own process, the kernel attributes CPU time and run queue to it.
owners AS (
    SELECT n.run, n.server, n.pid, bool_or(coalesce(w.is_load, false)) AS is_load
    FROM named n JOIN works w USING (run, server, application, name_of, address)
    WHERE n.tid IS NULL AND n.pid IS NOT NULL
    GROUP BY n.run, n.server, n.pid
),
of_kernel AS (
    SELECT o.run, o.server, sum(p.cpu * p.dt) FILTER (is_load) / nullif(sum(p.cpu * p.dt), 0) AS cpu,
        sum(p.run_queue_wait * p.dt) FILTER (is_load) / nullif(sum(p.run_queue_wait * p.dt), 0) AS run_queue
    FROM owners o JOIN process p ON p.run = o.run AND p.pid = o.pid JOIN span s ON s.run = o.run
    WHERE epoch_us(p.t) - coalesce(p.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
    GROUP BY o.run, o.server
)
SELECT t.run, measured, t.word, sum(time * coalesce(CASE
        WHEN measured = 'os' AND t.word = 'cpu' THEN k.cpu
        WHEN measured = 'os' AND t.word = 'run queue' THEN k.run_queue
        WHEN measured = 'sampled' OR t.word = 'idle in transaction' THEN h.of_load
    END, 1)) AS time, count(DISTINCT t.server) AS servers, max(n.error) AS error
FROM accounted t LEFT JOIN shares h ON h.run = t.run AND h.server IS NOT DISTINCT FROM t.server AND h.word = lower(t.word)
LEFT JOIN of_kernel k ON k.run = t.run AND k.server IS NOT DISTINCT FROM t.server
LEFT JOIN noise n ON n.run = t.run AND n.server IS NOT DISTINCT FROM t.server AND t.measured = 'sampled'
WHERE time IS NOT NULL AND (
    EXISTS (FROM busy b WHERE b.run = t.run AND b.server = t.server) OR NOT EXISTS (FROM busy b WHERE b.run = t.run)
)
GROUP BY t.run, measured, t.word
UNION ALL
-- Who waited in a pooler that the load went through was with no server.
SELECT p.run, 'server', 'pool', sum(wait_time * p.dt) / sum(p.dt), 0, NULL
FROM db_pool p JOIN span s USING (run)
WHERE p.user IS NULL AND wait_time IS NOT NULL AND epoch_us(p.t) - coalesce(p.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
-- A server that has a pool itself counts no transactions of it.
GROUP BY p.run HAVING coalesce(sum(p.transactions_per_s * p.dt) / sum(p.dt), any_value(s.per_s)) >= 0.1 * any_value(s.per_s)
ORDER BY ALL
