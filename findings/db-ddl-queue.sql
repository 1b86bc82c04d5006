-- title: A change of the schema waits, and others queue behind it
-- severity: critical
-- section: database
-- message: Session {waiter} of {server} waited up to {waited_s:s} for an exclusive lock on {relation}, with up to {behind} sessions behind it.
-- advice: Everybody who wants the table waits until the change got its lock and is done. Cancel the change and set lock_timeout (PostgreSQL) or lock_wait_timeout (MySQL, MariaDB) before trying again; end the old transaction that it waits for.
-- ask: db-lock-targets
-- explains: db-lock-waits, db-blocking-chain, waits-for-peer
-- part: lock
-- world: database
-- yes: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 lock=relation mode=AccessExclusiveLock relation=public.orders behind=4 waited_s=3 *3
-- yes: db_lock server=localhost waiter=12 blocker=11 root=9 depth=2 lock=relation mode=AccessShareLock relation=public.orders behind=0 waited_s=2 *3
--
-- yes: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 lock=metadata mode=EXCLUSIVE relation=shop.orders behind=2 waited_s=5 *5
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 lock=relation mode=AccessExclusiveLock relation=public.orders behind=0 waited_s=3 *3
--
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 lock=transactionid mode=ShareLock behind=4 waited_s=30 *30
--
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 lock=relation mode=RowExclusiveLock relation=public.orders behind=4 waited_s=3 *3
-- yes: db_session server=localhost session=7 wait_event="Waiting for table metadata lock" activity=lock statement="alter table item add column a integer" dt=0.1 *20
-- yes: db_session server=localhost session=8 wait_event="Waiting for table metadata lock" activity=lock statement="update item set stock = ?" dt=0.1 *20
--
-- no: db_session server=localhost session=7 wait_event="Waiting for table metadata lock" activity=lock statement="alter table item add column a integer" dt=0.1 *20
--
-- no: db_session server=localhost session=8 wait_event="Waiting for table metadata lock" activity=lock statement="update item set stock = ?" dt=0.1 *20
-- no: db_session server=localhost session=9 wait_event="Waiting for table metadata lock" activity=lock statement="update item set stock = ?" dt=0.1 *20
-- A second is enough: each further second adds all that arrives to the queue. An outage of this kind is nbari/pg_exporter #23.
-- MariaDB shows by default who waits for a metadata lock and what it executes, and not who holds it.
WITH changes AS (
    SELECT run, host, server, waiter, relation, behind, waited_s
    FROM db_lock l
    WHERE ((lock = 'relation' AND replace(lower(l.mode), ' ', '') IN ('accessexclusivelock', 'accessexclusive'))
        OR (lock = 'metadata' AND upper(l.mode) IN ('EXCLUSIVE', 'MDL_EXCLUSIVE'))) AND behind >= 1
), waits AS (
    SELECT run, host, server, t, dt, session, s.statement, regexp_matches(lower(s.statement), '^(alter|drop|truncate|rename|optimize|create) ') AS is_change
    FROM db_session s WHERE wait_event ILIKE '%metadata lock%'
), queues AS (
    SELECT *, count(*) FILTER (NOT is_change) OVER (PARTITION BY run, host, server, t) AS behind FROM waits
), reported AS (
    SELECT run, host, server, session AS waiter, 'the table of: ' || left(any_value(statement), 80) AS relation, max(behind) AS behind, steady(sum(dt)) AS waited_s
    FROM queues WHERE is_change AND behind >= 1
    GROUP BY run, host, server, session, statement
)
SELECT run, host, server, waiter, coalesce(any_value(relation), 'a table') AS relation, CAST(max(behind) AS BIGINT) AS behind, max(waited_s) AS waited_s
FROM (SELECT * FROM changes UNION ALL SELECT * FROM reported)
GROUP BY run, host, server, waiter
HAVING max(waited_s) >= 1
ORDER BY behind DESC, waited_s DESC, run, host, server, waiter
