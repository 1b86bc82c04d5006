-- title: A statement is slower since its plan is generic
-- severity: warning
-- section: database
-- message: {factor} × slower since {at}, when its sessions began to use one plan for any values (a generic plan) and no longer one for the values of each call: {before:ms} a call before, {after:ms} since, and {share:%} of the statements' time. The statement is {statement}.
-- advice: PostgreSQL takes the generic plan of a prepared statement from its sixth execution on where its estimated cost is no higher than the mean of custom plans. Compare both plans (fenxi ask db-statement-plans: generic and example), and set plan_cache_mode = force_custom_plan for that role, or renew the statistics that the estimate comes from.
-- ask: db-statement-plans
-- impact: share of the statements' time
-- explains: db-one-statement, db-full-scans, db-scans, db-rows-examined, db-running-hot, db-cpu-bound, db-many-active, db-cache-hit-low
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 plans_per_s=100 time=0.02 dt=10 @10
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 plans_per_s=99 time=0.02 dt=10 @20
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=80 plans_per_s=30 time=0.3 dt=10 @30
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 plans_per_s=0 time=0.5 dt=10 @40
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 plans_per_s=100 time=0.02 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 plans_per_s=50 time=0.5 dt=10 @40
--
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 plans_per_s=100 time=0.4 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 plans_per_s=0 time=0.38 dt=10 @40
--
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 time=0.02 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 time=0.5 dt=10 @40
--
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=100 plans_per_s=100 time=0.02 dt=10 @10
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 plans_per_s=0 time=0.5 dt=10 @20
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 plans_per_s=25 time=0.5 dt=10 @30
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=50 plans_per_s=50 time=0.02 dt=10 @40
-- pg_stat_statements.track_planning counts plannings: a custom plan is made for each call, a generic one once a session. Up to one
-- interval nearly all calls were planned, and behind it nearly none; an interval with both is neither. Twice the time per call, and a
-- twentieth of the time of all statements, as for a plan that changed.
WITH calls AS (
    SELECT run, host, server, database, digest, t, any_value(left(statement, 120)) AS statement, sum(time * coalesce(dt, 1)) AS spent,
        sum(calls_per_s * coalesce(dt, 1)) AS calls, sum(plans_per_s * coalesce(dt, 1)) AS plans
    FROM db_statement WHERE plans_per_s IS NOT NULL AND digest IS NOT NULL GROUP BY run, host, server, database, digest, t
), planned AS (
    SELECT *, plans / nullif(calls, 0) AS share_planned,
        max(t) FILTER (plans >= 0.8 * calls) OVER (PARTITION BY run, host, server, database, digest) AS last_custom
    FROM calls WHERE calls > 0
), each AS (
    SELECT run, host, server, database, digest, any_value(statement) AS statement, min(t) FILTER (t > last_custom AND share_planned <= 0.2) AS since,
        1000 * sum(spent) FILTER (t <= last_custom) / nullif(sum(calls) FILTER (t <= last_custom), 0) AS before,
        1000 * sum(spent) FILTER (t > last_custom AND share_planned <= 0.2) / nullif(sum(calls) FILTER (t > last_custom AND share_planned <= 0.2), 0) AS after,
        sum(spent) FILTER (t > last_custom AND share_planned <= 0.2) AS spent
    FROM planned
    GROUP BY run, host, server, database, digest
    HAVING count(*) FILTER (t <= last_custom AND share_planned < 0.8) = 0
), totals AS (
    SELECT run, host, server, t, sum(time * coalesce(dt, 1)) AS spent FROM db_statement WHERE coalesce(nested, 'no') <> 'yes' GROUP BY run, host, server, t
), shares AS (
    SELECT e.run, e.host, e.server, e.digest, e.since, e.statement, e.before, e.after, e.after / nullif(e.before, 0) AS times, 100 * e.spent / nullif(sum(s.spent), 0) AS share
    FROM each e
    JOIN totals s ON s.run = e.run AND s.host = e.host AND s.server IS NOT DISTINCT FROM e.server AND s.t >= e.since
    GROUP BY e.run, e.host, e.server, e.digest, e.since, e.statement, e.before, e.after, e.spent
)
SELECT run, host, server, digest, statement, before, after, share, substr(CAST(since AS VARCHAR), 12, 8) AS at,
    CASE WHEN times >= 10 THEN CAST(round(times) AS BIGINT)::VARCHAR ELSE CAST(round(times, 1) AS VARCHAR) END AS factor
FROM shares
WHERE times >= 2 AND share >= 5
ORDER BY share DESC, run, host, server, digest
