-- title: Flushes to stable storage are slow
-- severity: warning
-- section: disk
-- message: {device} did {flushes:/s} flushes with a mean latency of {mean_ms:ms}.
-- advice: Commits wait for flushes: use group commit, storage with a protected write cache, or a faster device for the log. Harmless if nothing waits for fsync.
-- ask: disk-latency
-- explains: db-commit-wait
-- part: commit; system I/O
-- names: flush
-- yes: disk device=sda class=disk flushes_per_s=60 flush_await_ms=14 *30
-- no: disk device=sda class=disk flushes_per_s=60 flush_await_ms=0.3 *30
--
-- no: disk device=sda class=disk flushes_per_s=0.2 flush_await_ms=14 *30
-- Ten flushes a second of 5 ms are a twentieth of the time of a client that commits one after the other.
WITH disks AS (
    SELECT run, host, device, wmean(flushes_per_s, dt) AS flushes, wmean(flush_await_ms, flushes_per_s * dt) AS mean_ms, sum(dt) AS seen_s
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host, device
)
SELECT run, host, device, flushes, mean_ms
FROM disks
WHERE flushes >= 10 AND mean_ms >= 5 AND seen_s >= 3
ORDER BY flushes * mean_ms DESC, run, host, device
