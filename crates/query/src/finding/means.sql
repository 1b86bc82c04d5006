-- What a series means, whichever tool recorded it: `means` is a word of MEANS in `periods.rs`, NULL where none fits; of several series
-- of one meaning the one of the smallest `place` is the best. `thing` is the common subject of series: one fact.
-- `name` is the column behind its table, or what a metric is called, in small letters with `_` for all else.
WITH series AS (
    SELECT CAST(split_part(r, chr(31), 1) AS BIGINT) AS n, split_part(r, chr(31), 2) AS tab, lower(split_part(r, chr(31), 4)) AS about,
        regexp_replace(lower(CASE split_part(r, chr(31), 2) WHEN 'metric' THEN split_part(r, chr(31), 4)
            ELSE split_part(r, chr(31), 2) || '.' || split_part(r, chr(31), 3) END), '[^a-z0-9.]+', '_', 'g') AS name
    FROM (SELECT unnest(string_split($names, chr(30))) AS r)
), named AS (
    SELECT n, tab, about, name, CASE
        WHEN regexp_matches(name, '^load.transactions_per_s$') THEN '1 throughput'
        WHEN regexp_matches(name, '^db.commits_per_s$|(^|[._])(com_commit|xact_commit)($|_)') THEN '3 throughput'
        WHEN regexp_matches(name, '^load.requests_per_s$|^db.statements_per_s$|(^|[._])(questions|queries|http_requests)($|_)|(^|[.])requests($|_)') THEN '4 statements'
        WHEN regexp_matches(name, '(^|[._])(com_(select|stmt_execute)|handler_commit)($|_)') THEN '5 statements'
        WHEN tab = 'process' THEN CASE
            WHEN regexp_matches(about, '(^|[ /_-])(pg_dump|pg_dumpall|pg_basebackup|mysqldump|mariadb-dump|mydumper|mysqlpump|xtrabackup|mariabackup|mariadb-backup|pgbackrest|barman)') THEN '1 dump'
            WHEN name = 'process.write_bytes_per_s' AND regexp_matches(about, '(^|/)(postgres|mysqld|mariadbd|oracle|mongod)') THEN '2 own_writes'
            WHEN name = 'process.cpu' AND regexp_matches(about, '(^|/)(postgres|mysqld|mariadbd|oracle|mongod|redis-server)') THEN '1 own_cpu'
            WHEN regexp_matches(about, '(^|/)(postgres|mysqld|mariadbd|oracle|mongod|redis-server|java|fenxi|sysbench|pgbench|wrk|mysqlslap)') THEN '9 none'
            WHEN name = 'process.cpu' THEN '1 other_cpu'
            WHEN regexp_matches(name, '^process.(read|write)_bytes_per_s$') THEN '1 other_io'
            ELSE '9 none' END
        WHEN regexp_matches(name, '^load.latency_mean_ms$') THEN '1 latency'
        WHEN tab IN ('load', 'metric') AND regexp_matches(name, '(latency|response_time|resp_time)') AND NOT regexp_matches(name, 'disk|dsk|await|fsync|lock') THEN '2 latency'
        WHEN regexp_matches(name, '^db.connects_per_s$|(^|[._])(connects|logons_cumulative)($|_)') THEN '1 connects'
        WHEN regexp_matches(name, '^db.sessions$|^load.clients$|(^|[._])(threads_connected|numbackends|terminals)($|_)') THEN '1 sessions'
        WHEN regexp_matches(name, '^db.(active_sessions|active_sampled|db_time)$|(^|[._])threads_running($|_)') THEN '1 active'
        WHEN regexp_matches(name, '^db.(row_lock_|waiting_sessions|deadlocks)|row_lock_(waits|time|current)|table_locks_waited|(^|[._])lock_(waits|timeouts|deadlocks|time)')
            OR name = 'db_wait.time' AND regexp_matches(about, '(^| )(lock|row lock|enq)') THEN '1 locks'
        WHEN regexp_matches(name, '^db.(temp_(bytes|files|disk)|sort_merge)|sort_merge_passes|created_tmp_(disk|files)|(^|[._])temp_(bytes|files)') THEN '1 spills'
        WHEN regexp_matches(name, '^db.(full_|temp_|sort)|select_(scan|full|range_check)|handler_read_rnd_next|(^|[._])sort_(rows|scan)|created_tmp') THEN '1 scans'
        WHEN regexp_matches(name, '^db.rows_(returned|fetched)|(^|[._])(innodb_)?rows_read($|_)|handler_read_|tup_(returned|fetched)') THEN '1 reads'
        WHEN regexp_matches(name, '(^|[._])(innodb_)?rows_inserted|tup_inserted') THEN '1 inserted'
        WHEN regexp_matches(name, '(^|[._])com_(insert|load|replace)') THEN '2 inserted'
        WHEN regexp_matches(name, '(^|[._])(innodb_)?rows_(updated|deleted)|tup_(updated|deleted)|handler_(update|delete)|(^|[._])com_(update|delete)') THEN '1 changed'
        WHEN regexp_matches(name, '^db_wal.records|log_write_requests|buffer_pool_write_requests|wal_records') THEN '1 redo'
        WHEN regexp_matches(name, '^db_wal.syncs_per_s|(os_log|data|wal)_fsyncs|(^|[._])wal_syncs?($|_)|log_writes($|_)') THEN '1 commit_flushes'
        WHEN regexp_matches(name, '^db.(log|binlog)_bytes|^db_wal.wal_bytes|log_written|wal_bytes') THEN '1 log'
        WHEN regexp_matches(name, '^db.cache_misses|buffer_pool_reads|(^|[._])(innodb_)?pages_read($|_)|blks_read|(^|[._])innodb_data_reads?($|_)|read_ahead($|_per)') THEN '1 misses'
        WHEN regexp_matches(name, 'pages_(written|flushed)|innodb_data_(written|writes)|dblwr|buffers_(backend|checkpoint|clean)|^db_checkpoint.*buffers') THEN '1 own_writes'
        WHEN regexp_matches(name, '^db.sent_bytes|(^|[._])bytes_sent') THEN '1 sent'
        WHEN name = 'net.tx_bytes_per_s' AND NOT bool_or(regexp_matches(name, '^db.sent_bytes|(^|[._])bytes_sent')) OVER () THEN '2 sent'
        WHEN regexp_matches(name, '^db.received_bytes|(^|[._])bytes_received') THEN '1 received'
        WHEN regexp_matches(name, '(^|[._])com_(alter|create|drop|rename|truncate|optimize|lock)_(table|tables|index)($|_)|(^|[._])com_(truncate|optimize)($|_)') THEN '1 ddl'
        WHEN regexp_matches(name, 'flush_commands|com_(flush|refresh)|opened_tables|^db.table_cache_misses|table_open_cache_misses') THEN '1 flushes'
        WHEN tab = 'resource' AND about = 'cpu' THEN '1 cpu_use'
        WHEN name = 'cpu.usr' AND about = '' THEN '2 cpu_use'
        WHEN tab = 'metric' AND regexp_matches(name, 'cpu.*_(usr|user)($|_)|^(usr|user)($|_)') THEN '2 cpu_use'
        WHEN name = 'cpu.sys' AND about = '' OR tab = 'metric' AND regexp_matches(name, 'cpu.*_(sys|system)($|_)|^(sys|system)($|_)') THEN '2 kernel'
        WHEN regexp_matches(name, '^cpu.steal$|(^|[._])steal($|_)') THEN '1 stolen'
        WHEN regexp_matches(name, '^cpu.iowait$|(^|[._])(wai|iowait)($|_)|^sched.blocked$|procs_(blk|blocked)') OR tab = 'pressure' AND about = 'io' THEN '1 iowait'
        WHEN regexp_matches(name, '^sched.runnable$|procs_(run|running)($|_)|run_queue') OR tab = 'pressure' AND about = 'cpu' THEN '1 queue'
        WHEN regexp_matches(name, '^disk.(util|queue_depth|await_ms|read_await_ms|write_await_ms|in_flight)$') OR tab = 'resource' AND regexp_matches(about, '^disk ') THEN '1 disk_busy'
        WHEN regexp_matches(name, '^disk.writes?_|^vm.page_out_bytes') OR tab = 'metric' AND regexp_matches(name, '(^|_)(dsk|disk|io)_.*writ') THEN '1 disk_writes'
        WHEN regexp_matches(name, '^disk.reads?_|^vm.page_in_bytes') OR tab = 'metric' AND regexp_matches(name, '(^|_)(dsk|disk|io)_.*read') THEN '1 disk_reads'
        WHEN regexp_matches(name, '^tcp.(retransmits_per_s|retransmit|timeouts_per_s)$|retrans') THEN '1 retransmits'
        WHEN regexp_matches(name, '^db.round_trip_ms$|(^|[._])(rtt|ping)($|_)') THEN '1 round_trip'
        WHEN tab = 'metric' AND regexp_matches(name, '(^|[._])(tps|txn|transactions|throughput|num_trans[a-z]*)($|_)') THEN '2 throughput'
        ELSE '9 none' END AS what
    FROM series
)
SELECT n, nullif(substr(what, 3), 'none') AS means, CAST(substr(what, 1, 1) AS BIGINT) AS place, CASE
    WHEN tab IN ('cpu', 'sched', 'cpu_time', 'softirq', 'irq', 'run_queue', 'preemption') OR substr(what, 3) IN ('cpu_use', 'kernel', 'queue', 'stolen', 'iowait') OR tab = 'resource' AND starts_with(about, 'cpu')
        OR tab = 'metric' AND regexp_matches(name, '(^|[._])(cpu|csw|ctxt|int|intr|idl|idle|hiq|siq)($|_)') THEN CASE substr(what, 3) WHEN 'iowait' THEN 'disk' ELSE 'CPU' END
    WHEN tab IN ('disk', 'io_pattern', 'block_io') OR starts_with(substr(what, 3), 'disk_') OR tab = 'resource' AND starts_with(about, 'disk') OR tab = 'pressure' AND about = 'io' THEN 'disk'
    WHEN tab IN ('net', 'tcp', 'udp', 'softnet', 'net_driver') OR tab = 'resource' AND starts_with(about, 'link') OR tab = 'metric' AND regexp_matches(name, '(^|[._])net_') THEN 'network'
    WHEN tab IN ('mem', 'vm', 'page_cache') OR tab = 'resource' AND starts_with(about, 'mem') THEN 'memory'
    WHEN tab = 'process' THEN 'process ' || about
    WHEN substr(what, 3) <> 'none' THEN substr(what, 3)
    WHEN tab IN ('metric', 'resource') THEN about
    ELSE name || ' ' || about END AS thing
FROM named
ORDER BY n
