-- title: Which locks were contended?
-- about: Locks and their call sites by wait or hold time; a long wait points at the holder.
-- section: process
-- chart: table
-- order: 60
-- live: lock: total_s
-- param: n = 30, how many to show
SELECT run, host, comm, event, lock, caller, sum(events) AS events,
    coalesce(sum(total_s), sum(events * mean_us) / 1e6) AS total_s, sum(events * mean_us) / nullif(sum(events), 0) AS mean_us
FROM lock
GROUP BY run, host, comm, event, lock, caller
ORDER BY run, total_s DESC NULLS LAST, events DESC
LIMIT $n
