-- title: Sessions wait for free pages of the buffer pool
-- severity: warning
-- section: database
-- message: Sessions of {server} had to wait {n:time|times} ({rate:/s}) until a page of the buffer pool was clean.
-- advice: The pool is too small or is not flushed fast enough: raise innodb_buffer_pool_size, innodb_io_capacity and the number of page cleaners, or give the data faster disks.
-- ask: db-writers
-- explains: threads-take-turns
-- world: database
-- yes: db_checkpoint server=localhost free_waits=5 *40
-- no: db_checkpoint server=localhost free_waits=0 *40
--
-- no: db_checkpoint server=localhost free_waits=0 *39
-- no: db_checkpoint server=localhost free_waits=3 @39
-- The manual of MySQL calls any number a sign; one a second so that it costs something.
SELECT run, host, server, CAST(sum(free_waits) AS BIGINT) AS n, sum(free_waits) / sum(dt) AS rate
FROM db_checkpoint
GROUP BY run, host, server
HAVING sum(free_waits) / sum(dt) >= 1 AND sum(dt) >= 5
ORDER BY rate DESC, run, host, server
