-- title: Which locks were fought over?
-- about: Locks and the places that took them, by the time spent or held; a block that is long points at its holder.
-- section: process
-- chart: table
-- order: 60
-- param: n = 30, how many to show
SELECT run, host, comm, event, lock, caller, sum(events) AS events,
    coalesce(sum(total_s), sum(events * mean_us) / 1e6) AS total_s, sum(events * mean_us) / nullif(sum(events), 0) AS mean_us
FROM lock
GROUP BY run, host, comm, event, lock, caller
ORDER BY run, total_s DESC NULLS LAST, events DESC
LIMIT $n
