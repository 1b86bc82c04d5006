-- title: Which hosts were recorded, and how well do their clocks agree?
-- about: Hosts recorded through an agent: seconds seen, how often they were lost, the offset of their clock from the recorder's with its uncertainty and drift, the round trip over the link, and what the agent sent and used.
-- section: facts
-- chart: table
-- order: 15
WITH lost AS (
    SELECT run, host, count(*) AS times FROM event WHERE kind = 'host lost' GROUP BY run, host
)
SELECT run, host, sum(dt) AS seen_s, coalesce(any_value(times), 0) AS lost, arg_max(clock_offset_s, t) AS clock_offset_s,
    median(clock_uncertainty_s) AS clock_uncertainty_s, arg_max(clock_drift_s_per_s, t) AS clock_drift_s_per_s,
    min(round_trip_s) AS round_trip_s, wmean(sent_bytes_per_s, dt) AS sent_bytes_per_s, wmean(cpu_pct, dt) AS cpu_pct
FROM agent LEFT JOIN lost USING (run, host)
GROUP BY run, host
ORDER BY run, host
