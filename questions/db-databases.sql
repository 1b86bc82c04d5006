-- title: What did each database of the server do?
-- about: Transactions, cache hits, blocks and rows per second of each database. Blocks are logical reads (found in the cache or requested from the operating system) and those requested.
-- section: database
-- chart: table
-- order: 3
SELECT run, host, server, d.database AS database_name,
    wmean(coalesce(commits_per_s, 0) + coalesce(rollbacks_per_s, 0), coalesce(dt, 1)) AS transactions_per_s,
    100 * sum(cache_hits_per_s * coalesce(dt, 1)) / nullif(sum((cache_hits_per_s + cache_misses_per_s) * coalesce(dt, 1)), 0) AS hit_pct,
    wmean(cache_hits_per_s + cache_misses_per_s, coalesce(dt, 1)) AS logical_reads_per_s, wmean(cache_misses_per_s, coalesce(dt, 1)) AS reads_per_s,
    wmean(rows_returned_per_s, coalesce(dt, 1)) AS rows_per_s, wmean(rows_inserted_per_s, coalesce(dt, 1)) AS inserts_per_s,
    wmean(rows_updated_per_s, coalesce(dt, 1)) AS updates_per_s, wmean(rows_deleted_per_s, coalesce(dt, 1)) AS deletes_per_s,
    wmean(temp_bytes_per_s, coalesce(dt, 1)) AS temp_bytes_per_s, sum(deadlocks) AS deadlocks, sum(conflicts) AS conflicts
FROM db d
WHERE d.database IS NOT NULL AND (commits_per_s IS NOT NULL OR cache_hits_per_s IS NOT NULL)
GROUP BY run, host, server, d.database
ORDER BY run, host, server, transactions_per_s DESC NULLS LAST, logical_reads_per_s DESC NULLS LAST, database_name
