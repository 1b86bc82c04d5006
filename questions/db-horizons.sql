-- title: What kept old rows and transaction IDs?
-- about: The oldest snapshot and the oldest transaction at their worst, the session, replica or slot that held it, transaction IDs against the 2.1 billion at which PostgreSQL stops writes, and InnoDB's undo history. Dead rows that are newer than the oldest snapshot stay whatever VACUUM does.
-- section: database
-- chart: table
-- order: 46
WITH whole AS (
    SELECT run, host, server, max(oldest_xmin_transactions) AS xmin, max(oldest_transaction_s) AS oldest_s, max(xid_age) AS xid, max(mxid_age) AS mxid,
        arg_max(d.database, xid_age) AS xid_of, max(history_length) AS history
    FROM db d GROUP BY run, host, server
), holders AS (
    SELECT run, host, server, max(xmin_age) AS xmin, arg_max(who, xmin_age + before) AS who
    FROM (
        -- Where a session and a replica hold the same one, it is the session: half a transaction goes before none.
        SELECT run, host, server, xmin_age, 0.5 AS before, concat_ws(' ', 'session', session, d.user, application, state) AS who FROM db_session d
        UNION ALL SELECT run, host, server, xmin_age, 0.0, concat_ws(' ', CASE role WHEN 'slot' THEN 'slot' ELSE 'replica' END, name, CASE active WHEN 'no' THEN 'not active' END) FROM db_replication
    )
    WHERE xmin_age IS NOT NULL GROUP BY run, host, server
), oldest AS (
    SELECT run, host, server, arg_max(session, transaction_age_s) AS session, arg_max(concat_ws(' ', d.user, application, state), transaction_age_s) AS who
    FROM db_session d WHERE transaction_age_s IS NOT NULL GROUP BY run, host, server
), tables AS (
    SELECT run, host, server, max(xid_age) AS xid, arg_max(relation, xid_age) AS relation, sum(vacuums) AS vacuums
    FROM db_table WHERE xid_age IS NOT NULL GROUP BY run, host, server
), lines AS (
    SELECT w.run, w.host, w.server, unnest([
        {'place': 1, 'what': 'oldest snapshot (XIDs)', 'unit': '', 'value': coalesce(greatest(w.xmin, h.xmin), w.xmin, h.xmin),
            'held_by': CASE WHEN h.xmin >= 0.9 * coalesce(w.xmin, 0) THEN h.who END},
        {'place': 2, 'what': 'oldest transaction', 'unit': 's', 'value': w.oldest_s, 'held_by': CASE WHEN o.session IS NOT NULL THEN concat('session ', o.session, ' ', o.who) END},
        {'place': 3, 'what': 'unfrozen XIDs of a database', 'unit': '', 'value': w.xid, 'held_by': w.xid_of},
        {'place': 4, 'what': 'unfrozen XIDs, of the limit', 'unit': '%', 'value': 100 * w.xid / 2147483648.0, 'held_by': w.xid_of},
        {'place': 5, 'what': 'unfrozen XIDs of a table', 'unit': '', 'value': t.xid, 'held_by': t.relation},
        {'place': 6, 'what': 'unfrozen multixacts', 'unit': '', 'value': w.mxid, 'held_by': NULL},
        {'place': 7, 'what': 'undo history length', 'unit': '', 'value': w.history, 'held_by': NULL},
        {'place': 8, 'what': 'vacuums of tables', 'unit': '', 'value': t.vacuums, 'held_by': NULL}
    ]) AS line
    FROM whole w
    LEFT JOIN holders h ON h.run = w.run AND h.host = w.host AND h.server IS NOT DISTINCT FROM w.server
    LEFT JOIN oldest o ON o.run = w.run AND o.host = w.host AND o.server IS NOT DISTINCT FROM w.server
    LEFT JOIN tables t ON t.run = w.run AND t.host = w.host AND t.server IS NOT DISTINCT FROM w.server
)
SELECT run, host, server, line.what AS what, line.unit AS unit, line.value AS value, line.held_by AS held_by
FROM lines
WHERE line.value IS NOT NULL
ORDER BY run, host, server, line.place
