-- title: What did checkpoints, the background writer and the log write in all?
-- about: Checkpoints, buffers by who wrote them, and write-ahead or redo log over all the time observed.
-- section: database
-- chart: table
-- order: 54
WITH written AS (
    SELECT run, host, server, sum(timed) AS timed, sum(requested) AS requested, wmean(c.write_time, coalesce(dt, 1)) AS write_time, wmean(c.sync_time, coalesce(dt, 1)) AS sync_time,
        wmean(checkpoint_buffers_per_s, coalesce(dt, 1)) AS by_checkpoints, wmean(cleaner_buffers_per_s, coalesce(dt, 1)) AS by_cleaner,
        wmean(backend_buffers_per_s, coalesce(dt, 1)) AS by_sessions, sum(cleaner_stops) AS stops, sum(backend_fsyncs) AS fsyncs,
        wmean(allocated_per_s, coalesce(dt, 1)) AS allocated, arg_max(redo_bytes, t) AS redo_bytes, arg_max(dirty_bytes, t) AS dirty_bytes, sum(free_waits) AS free_waits
    FROM db_checkpoint c GROUP BY run, host, server
), logged AS (
    SELECT run, host, server, wmean(records_per_s, coalesce(dt, 1)) AS records, wmean(full_pages_per_s, coalesce(dt, 1)) AS full_pages, wmean(wal_bytes_per_s, coalesce(dt, 1)) AS bytes,
        wmean(buffers_full_per_s, coalesce(dt, 1)) AS buffers_full, wmean(writes_per_s, coalesce(dt, 1)) AS writes, wmean(syncs_per_s, coalesce(dt, 1)) AS syncs,
        sum(archived) AS archived, sum(archive_failures) AS failures
    FROM db_wal GROUP BY run, host, server
), lines AS (
    SELECT run, host, server, unnest([
        {'place': 1, 'what': 'checkpoints timed', 'unit': '', 'v': timed}, {'place': 2, 'what': 'checkpoints requested', 'unit': '', 'v': requested},
        {'place': 3, 'what': 'checkpoint write time', 'unit': 's/s', 'v': write_time}, {'place': 4, 'what': 'checkpoint sync time', 'unit': 's/s', 'v': sync_time},
        {'place': 5, 'what': 'buffers written by checkpoints', 'unit': '/s', 'v': by_checkpoints}, {'place': 6, 'what': 'buffers written by the background writer', 'unit': '/s', 'v': by_cleaner},
        {'place': 7, 'what': 'buffers written by backends', 'unit': '/s', 'v': by_sessions}, {'place': 8, 'what': 'maxwritten_clean', 'unit': '', 'v': stops},
        {'place': 9, 'what': 'fsyncs by backends', 'unit': '', 'v': fsyncs}, {'place': 10, 'what': 'buffers allocated', 'unit': '/s', 'v': allocated},
        {'place': 11, 'what': 'checkpoint age', 'unit': 'B', 'v': redo_bytes}, {'place': 12, 'what': 'dirty pages', 'unit': 'B', 'v': dirty_bytes},
        {'place': 13, 'what': 'waits for a free page', 'unit': '', 'v': free_waits}
    ]) AS line FROM written
    UNION ALL
    SELECT run, host, server, unnest([
        {'place': 21, 'what': 'log records', 'unit': '/s', 'v': records}, {'place': 22, 'what': 'full page images', 'unit': '/s', 'v': full_pages},
        {'place': 23, 'what': 'log', 'unit': 'B/s', 'v': bytes}, {'place': 24, 'what': 'log buffers full', 'unit': '/s', 'v': buffers_full},
        {'place': 25, 'what': 'log writes', 'unit': '/s', 'v': writes}, {'place': 26, 'what': 'log syncs', 'unit': '/s', 'v': syncs},
        {'place': 27, 'what': 'log files archived', 'unit': '', 'v': archived}, {'place': 28, 'what': 'archive failures', 'unit': '', 'v': failures}
    ]) AS line FROM logged
)
SELECT run, host, server, line.what AS what, line.unit AS unit, line.v AS value
FROM lines
WHERE line.v IS NOT NULL
ORDER BY run, host, server, line.place
