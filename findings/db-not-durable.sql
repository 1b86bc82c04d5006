-- title: A database does not make commits durable
-- severity: info
-- section: database
-- message: {server} runs with {settings}: a crash loses or damages committed work.
-- advice: Figures of it compare only with those of servers that are set alike. Intended for caches and throw-away tests.
-- ask: db-settings
-- comparison: warn
-- world: database
-- yes: db_setting server=localhost name=fsync value=off
--
-- yes: db_setting server=localhost name=innodb_flush_log_at_trx_commit value=2
-- no: db_setting server=localhost name=fsync value=on
-- no: db_setting server=localhost name=synchronous_commit value=local
--
-- no: db_setting server=localhost name=innodb_flush_log_at_trx_commit value=1
-- no: db_setting server=localhost name=sync_binlog value=0
-- no: db_setting server=localhost name=log_bin value=OFF
-- What the manuals of PostgreSQL, MySQL and MariaDB call not durable; sync_binlog counts where there is a binary log.
WITH latest AS (
    SELECT run, host, server, name, lower(arg_max(value, t)) AS value FROM db_setting WHERE coalesce(origin, '') <> 'server' GROUP BY run, host, server, name
)
SELECT l.run, l.host, l.server, string_agg(concat(l.name, ' = ', l.value), ', ' ORDER BY l.name) AS settings
FROM latest l
WHERE (name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND value IN ('off', 'false', '0'))
    OR (name = 'innodb_flush_log_at_trx_commit' AND value <> '1') OR (name = 'innodb_doublewrite' AND value IN ('off', '0'))
    OR (name = 'sync_binlog' AND value <> '1' AND EXISTS (
        SELECT 1 FROM latest b WHERE b.run = l.run AND b.host = l.host AND b.server IS NOT DISTINCT FROM l.server AND b.name = 'log_bin' AND b.value IN ('on', '1')))
GROUP BY l.run, l.host, l.server
ORDER BY l.run, l.host, l.server
