-- title: Another application uses the server
-- severity: warning
-- section: database
-- message: {who}, {what}, had {sessions} sessions of {server} at work on average, {share:%} of all that were, beside {driver}.
-- advice: It shares CPUs, disk, cache and locks with what is measured. Run it at another time or on a replica, limit it (a low rate, fewer connections, vacuum_cost_delay), or measure again without it: fenxi ask db-by-application shows what it does.
-- ask: db-by-application
-- comparison: warn
-- impact: share of the active sessions' time
-- explains: db-run-queue, db-cpu-bound, db-full-scans, db-scans, db-one-statement, db-full-pages, cpu-pressure, cpu-queue
-- world: database
-- yes: load generator=fenxi transactions_per_s=100 *20
-- yes: db server=localhost samples=10 *20
-- yes: db_session server=localhost session=1 application=fenxi kind="client backend" state=active activity=cpu dt=1 *20
-- yes: db_session server=localhost session=9 application=pg_dump kind="client backend" state=active activity=client statement="COPY public.item (id) TO stdout" dt=1 *20
--
-- yes: load generator=fenxi transactions_per_s=100 *20
-- yes: db server=localhost samples=10 *20
-- yes: db_session server=localhost session=1 user=root client=10.0.0.7 state=active activity=cpu dt=1 *20
-- yes: db_session server=localhost session=2 user=root client=10.0.0.7 state=active activity=cpu dt=1 *20
-- yes: db_session server=localhost session=9 user=report client=localhost state=active activity=cpu statement="SELECT count(*) FROM item" dt=1 *20
-- no: load generator=fenxi transactions_per_s=100 *20
-- no: db server=localhost samples=10 *20
-- no: db_session server=localhost session=1 application=fenxi kind="client backend" state=active activity=cpu dt=1 *20
-- no: db_session server=localhost session=2 application=fenxi kind="client backend" state=active activity=lock dt=1 *20
-- no: db_session server=localhost session=9 application=psql kind="client backend" state=active activity=cpu dt=1 *1
--
-- no: db server=localhost samples=10 *20
-- no: db_session server=localhost session=1 application=web kind="client backend" state=active activity=cpu dt=1 *20
-- no: db_session server=localhost session=9 application=jobs kind="client backend" state=active activity=cpu dt=1 *20
--
-- no: load generator=fenxi transactions_per_s=100 *20
-- no: db server=localhost samples=10 *20
-- no: db_session server=localhost session=1 application=fenxi kind="client backend" state=active activity=cpu dt=1 *20
-- no: db_session server=localhost session=9 application="" kind="autovacuum worker" state=active activity="user io" dt=1 *20
--
-- no: load generator=fenxi transactions_per_s=100 *20
-- no: db server=localhost samples=10 *20
-- no: db_session server=localhost session=1 application=fenxi kind="client backend" state=active activity=cpu dt=1 *20
-- no: db_session server=localhost session=9 application=psql kind="client backend" state="idle in transaction" activity="idle in transaction" dt=1 *20
--
-- yes: db_session session=1 application=pgbench state=active *10
-- yes: db_session session=9 application=pg_dump state=active statement="COPY public.item (id) TO stdout" *10
-- no: db_session session=1 application=web state=active *10
-- no: db_session session=9 application=jobs state=active *10
-- Who sleeps by its own statement (pg_sleep) is not at work.
-- Only beside a load: who measures knows which sessions are its own. They are those of the driver by its name, or else of the application that had most
-- sessions. A tenth of the sessions at work, and a fifth of one: who looks at the server now and then is none.
WITH loads AS (
    SELECT DISTINCT run, host FROM load WHERE transactions_per_s > 0
    UNION
    SELECT DISTINCT run, host FROM db_session WHERE application IN (SELECT comm FROM load_driver)
), groups AS (
    SELECT s.run, s.host, s.server, coalesce(nullif(s.application, ''), s.user, '(unnamed)') AS who, sum(s.sessions) FILTER (in_db_time AND s.class <> 'timeout') AS at_work, count(DISTINCT s.session) AS number,
        arg_max(s.statement, s.dt) FILTER (in_db_time AND s.class <> 'timeout' AND s.statement IS NOT NULL) AS statement,
        coalesce(bool_or(s.application IN (SELECT comm FROM load_driver)), false) AS drives
    FROM db_session_share s JOIN loads l ON l.run = s.run AND l.host = s.host
    WHERE s.is_client
    GROUP BY s.run, s.host, s.server, coalesce(nullif(s.application, ''), s.user, '(unnamed)')
), ranked AS (
    SELECT *, sum(at_work) OVER whole AS total, bool_or(drives) OVER whole AS is_known, first_value(who) OVER (PARTITION BY run, host, server ORDER BY drives DESC, number DESC, at_work DESC, who) AS driver
    FROM groups WINDOW whole AS (PARTITION BY run, host, server)
)
SELECT run, host, server, who, steady(at_work) AS sessions, 100 * at_work / total AS share, driver,
    CASE WHEN who ILIKE '%dump%' OR who ILIKE '%backup%' OR regexp_matches(coalesce(statement, ''), '(?i)^(COPY .* TO |SELECT /\*!40001)') THEN 'a backup'
        WHEN regexp_matches(coalesce(statement, ''), '(?i)^(COPY .* FROM |LOAD DATA|INSERT INTO .* SELECT)') THEN 'a bulk load'
        WHEN regexp_matches(coalesce(statement, ''), '(?i)^(VACUUM|ANALYZE|REINDEX|CREATE INDEX|CLUSTER|OPTIMIZE|ALTER )') THEN 'maintenance'
        WHEN statement IS NOT NULL THEN 'which executed ' || left(statement, 80) ELSE 'whose statements are not known' END AS what
FROM ranked
WHERE who <> driver AND NOT drives AND at_work >= 0.2 AND at_work >= 0.1 * total
ORDER BY at_work DESC, run, host, server, who
