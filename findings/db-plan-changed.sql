-- title: A statement is slower since its plan changed
-- severity: warning
-- section: database
-- message: {factor} × slower since its plan changed at {at}: {change}; {before:ms} a call before, {after:ms} since, and {share:%} of the statements' time. The statement is {statement}.
-- advice: See both plans (fenxi ask db-statement-plans). An index that is gone is missing in the new one; statistics that are out of date (a load, a table that was made anew) are renewed by ANALYZE; a setting that was changed is in db-settings. Where rows have become many, the new plan may be the right one, and the statement needs another index.
-- ask: db-statement-plans
-- impact: share of the statements' time
-- explains: db-one-statement, db-full-scans, db-scans, db-rows-examined, db-joins-without-index, db-running-hot, db-cpu-bound, db-many-active, db-cache-hit-low
-- yes: db_plan server=localhost database=shop digest=a plan=p source=example statement="select a" shape="index scan" @1
-- yes: db_plan server=localhost database=shop digest=a plan=q source=example statement="select a" shape="sequential scan" replaced=p change="t: index scan → sequential scan" @40
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.02 dt=10 @10
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.02 dt=10 @20
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 time=0.5 dt=10 @40
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 time=0.5 dt=10 @50
-- no: db_plan server=localhost database=shop digest=a plan=p source=example statement="select a" shape="index scan" @1
-- no: db_plan server=localhost database=shop digest=a plan=q source=example statement="select a" shape="sequential scan" replaced=p change="t: index scan → sequential scan" @40
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.3 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.3 dt=10 @20
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.4 dt=10 @40
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.4 dt=10 @50
--
-- no: db_plan server=localhost database=shop digest=a plan=p source=example statement="select a" shape="index scan" @1
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.02 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 time=0.5 dt=10 @40
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 time=0.5 dt=10 @50
--
-- no: db_plan server=localhost database=shop digest=a plan=p source=example statement="select a" shape="index scan" @1
-- no: db_plan server=localhost database=shop digest=a plan=q source=example statement="select a" shape="sequential scan" replaced=p change="t: index scan → sequential scan" @40
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.002 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.01 dt=10 @40
-- no: db_statement server=localhost database=shop digest=b statement="select b" calls_per_s=100 time=2 dt=10 @40
-- Twice the time per call, as what moves less has other reasons, and a twentieth of the time of all statements. The interval in which
-- the plan changed has calls of both: it counts as the new plan's, which is the more careful figure. Between two changes
-- of one statement only that time counts.
WITH changes AS (
    SELECT run, host, server, database, digest, t, any_value(left(statement, 120)) AS statement, arg_min(change, source) AS change
    FROM db_plan WHERE change IS NOT NULL
    GROUP BY run, host, server, database, digest, t
), bounds AS (
    SELECT *, lag(t) OVER w AS since, lead(t) OVER w AS until FROM changes
    WINDOW w AS (PARTITION BY run, host, server, database, digest ORDER BY t)
), calls AS (
    SELECT run, host, server, database, digest, t, sum(time * coalesce(dt, 1)) AS spent, sum(calls_per_s * coalesce(dt, 1)) AS calls
    FROM db_statement GROUP BY run, host, server, database, digest, t
), totals AS (
    SELECT run, host, server, t, sum(time * coalesce(dt, 1)) AS spent FROM db_statement WHERE coalesce(nested, 'no') <> 'yes' GROUP BY run, host, server, t
), each AS (
    SELECT b.run, b.host, b.server, b.database, b.digest, b.t, b.statement, b.change, b.until,
        1000 * sum(c.spent) FILTER (c.t < b.t) / nullif(sum(c.calls) FILTER (c.t < b.t), 0) AS before,
        1000 * sum(c.spent) FILTER (c.t >= b.t) / nullif(sum(c.calls) FILTER (c.t >= b.t), 0) AS after,
        sum(c.spent) FILTER (c.t >= b.t) AS spent
    FROM bounds b
    JOIN calls c ON c.run = b.run AND c.host = b.host AND c.server IS NOT DISTINCT FROM b.server AND c.digest = b.digest AND c.database IS NOT DISTINCT FROM b.database
        AND (b.since IS NULL OR c.t >= b.since) AND (b.until IS NULL OR c.t < b.until)
    GROUP BY b.run, b.host, b.server, b.database, b.digest, b.t, b.statement, b.change, b.until
), shares AS (
    SELECT e.run, e.host, e.server, e.digest, e.t, e.statement, e.change, e.before, e.after, e.after / nullif(e.before, 0) AS times, 100 * e.spent / nullif(sum(s.spent), 0) AS share
    FROM each e
    JOIN totals s ON s.run = e.run AND s.host = e.host AND s.server IS NOT DISTINCT FROM e.server AND s.t >= e.t AND (e.until IS NULL OR s.t < e.until)
    GROUP BY e.run, e.host, e.server, e.digest, e.t, e.statement, e.change, e.before, e.after, e.spent
)
SELECT run, host, server, digest, statement, change, before, after, share, strftime(t, '%H:%M:%S') AS at,
    CASE WHEN times >= 10 THEN CAST(round(times) AS BIGINT)::VARCHAR ELSE CAST(round(times, 1) AS VARCHAR) END AS factor
FROM shares
WHERE times >= 2 AND share >= 5
ORDER BY share DESC, run, host, server, digest
