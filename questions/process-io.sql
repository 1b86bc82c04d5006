-- title: Who did the I/O?
-- about: Processes by bytes read from and written to storage, and bytes moved through system calls, including cache hits.
-- section: process
-- chart: table
-- order: 30
-- param: n = 20, how many processes to show
WITH moved AS (
    SELECT run, host, pid, comm, sum(read_bytes_per_s * dt) AS read_bytes, sum(write_bytes_per_s * dt) AS write_bytes,
        sum(read_call_bytes_per_s * dt) AS read_call_bytes, sum(write_call_bytes_per_s * dt) AS write_call_bytes,
        sum(io_wait / 100 * dt) AS io_wait_s
    FROM process
    GROUP BY run, host, pid, comm
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host
        ORDER BY coalesce(read_bytes, 0) + coalesce(write_bytes, 0) DESC,
            coalesce(read_call_bytes, 0) + coalesce(write_call_bytes, 0) DESC, pid) AS place
    FROM moved
    WHERE coalesce(read_bytes, 0) + coalesce(write_bytes, 0) + coalesce(read_call_bytes, 0) + coalesce(write_call_bytes, 0) > 0
)
SELECT run, host, pid, comm, read_bytes, write_bytes, read_call_bytes, write_call_bytes, io_wait_s
FROM placed
WHERE place <= $n
ORDER BY run, host, place
