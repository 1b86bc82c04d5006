-- title: Which files were read and written, and by whom?
-- about: Files and processes by bytes read and written, with the share of random operations (not starting where the last one ended).
-- section: disk
-- chart: table
-- order: 72
-- param: n = 30, how many files to show
WITH moved AS (
    SELECT run, host, file, comm, pid, op, sum(ops_per_s * dt) AS ops, sum(transfer_bytes_per_s * dt) AS transferred_bytes,
        coalesce(sum(ops_per_s * dt) FILTER (WHERE pattern LIKE '%random'), 0) AS random_ops
    FROM io_pattern
    WHERE op IN ('read', 'write') AND file IS NOT NULL
    GROUP BY run, host, file, comm, pid, op
)
SELECT run, host, file, comm, pid, op, ops, transferred_bytes, 100 * random_ops / nullif(ops, 0) AS random_pct
FROM moved
ORDER BY run, host, transferred_bytes DESC NULLS LAST, ops DESC, file
LIMIT $n
