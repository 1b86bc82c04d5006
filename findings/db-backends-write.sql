-- title: Sessions write dirty buffers themselves
-- severity: info
-- section: database
-- message: {share:%} of the buffers that {server} wrote ({rate:/s}) were written by sessions that needed the place.
-- advice: A statement that must write before it can read takes longer: enlarge the cache, let the background writer do more (bgwriter_lru_maxpages, bgwriter_delay). Bulk loads, vacuums and extensions of files count as well, and are harmless.
-- ask: db-writers
-- world: database
-- yes: db_checkpoint server=localhost checkpoint_buffers_per_s=100 cleaner_buffers_per_s=50 backend_buffers_per_s=900 *40
-- no: db_checkpoint server=localhost checkpoint_buffers_per_s=900 cleaner_buffers_per_s=50 backend_buffers_per_s=300 *40
--
-- no: db_checkpoint server=localhost checkpoint_buffers_per_s=1 cleaner_buffers_per_s=0 backend_buffers_per_s=9 *40
-- Half, as this counter of PostgreSQL up to 16 has extensions of files in it; a hundred a second.
SELECT run, host, server, wmean(backend_buffers_per_s, dt) AS rate,
    100 * wmean(backend_buffers_per_s, dt) / (wmean(backend_buffers_per_s, dt) + wmean(coalesce(checkpoint_buffers_per_s, 0) + coalesce(cleaner_buffers_per_s, 0), dt)) AS share
FROM db_checkpoint
GROUP BY run, host, server
HAVING wmean(backend_buffers_per_s, dt) >= 100 AND sum(dt) >= 5
    AND wmean(backend_buffers_per_s, dt) >= wmean(coalesce(checkpoint_buffers_per_s, 0) + coalesce(cleaner_buffers_per_s, 0), dt)
ORDER BY rate DESC, run, host, server
