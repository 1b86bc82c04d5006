-- title: Which long operations ran?
-- about: Vacuum, ANALYZE, index builds, COPY and backups with their last phase, how far they were, and for how long they were seen. An operation that was seen once was shorter than the distance between two looks.
-- section: database
-- chart: table
-- order: 49
-- param: n = 20, how many to show
WITH seen AS (
    SELECT p.run, p.host, p.server, p.session, p.command, p.database AS database_name, p.relation, min(p.t) AS first_t,
        (epoch_us(max(p.t)) - epoch_us(min(p.t))) / 1e6 + any_value(coalesce(p.dt, 1)) AS seen_s, arg_max(p.phase, p.t) AS phase,
        arg_max(p.done, p.t) FILTER (p.total > 0) AS done, arg_max(p.total, p.t) FILTER (p.total > 0) AS total
    FROM db_progress p
    GROUP BY p.run, p.host, p.server, p.session, p.command, p.database, p.relation
)
SELECT s.run, s.host, s.server, s.session, s.command, s.database_name, s.relation, (epoch_us(s.first_t) - epoch_us(r.start)) / 1e6 AS at_s, s.seen_s, s.phase,
    s.done, s.total, 100 * s.done / s.total AS done_pct
FROM seen s
JOIN runs r ON r.run = s.run
ORDER BY s.run, s.host, s.seen_s DESC, s.session, s.command, s.relation
LIMIT $n
