-- title: Most time of the database
-- severity: info
-- section: database
-- message: {event} {share:%}
-- yes: metric name=oracle.event_time_share labels="event=latch free" value=79 unit=%
-- yes: metric name=oracle.event_time_share labels="event=CPU time" value=2 unit=%
--
-- yes: db server=here samples=10 *9
-- yes: db_wait server=here activity="user io" wait_class=IO wait_event=DataFileRead kind=client measured=sampled time=3 *9
-- no: metric name=oracle.wait_count labels="event=latch free" value=79
--
-- no: db server=here samples=10 *9
-- no: db_wait server=here activity=idle wait_class=Client wait_event=ClientRead kind=client measured=sampled time=3 *9
-- Reports give the share of each event, samples the sessions in each.
WITH sampled AS (
    SELECT run, host, coalesce(wait_event, activity) AS event, 100 * sum(sessions) / nullif(sum(sum(sessions)) OVER (PARTITION BY run, host), 0) AS share
    FROM db_best_wait WHERE in_db_time GROUP BY run, host, coalesce(wait_event, activity)
), known AS (
    SELECT run, host, regexp_extract(labels, 'event=(.*)$', 1) AS event, max(value) AS share FROM metric WHERE name LIKE '%event_time_share' GROUP BY run, host, labels
)
SELECT run, host, event, share FROM sampled WHERE share >= 10
UNION ALL
SELECT run, host, event, share FROM known t WHERE share >= 10 AND event <> '' AND NOT EXISTS (SELECT 1 FROM sampled s WHERE s.run = t.run AND s.host = t.host AND s.share IS NOT NULL)
ORDER BY share DESC, run, host, event
