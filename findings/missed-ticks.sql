-- title: The recorder missed samples
-- severity: warning
-- section: facts
-- says: Samples were missed {times} times; the first time: {message}.
-- advice: The machine was too busy to schedule the recorder, or the interval is too short. Rates stay correct, over longer intervals; short peaks may be missing.
-- ask: events
-- yes: event kind="missed tick" subject=recorder message="2 ticks late" *4
-- no: event kind=mark subject=recorder message=x *4
-- A single one is good to know, three are a habit.
SELECT run, host, count(*) AS times, arg_min(message, t) AS message, CASE WHEN count(*) >= 3 THEN 'warning' ELSE 'info' END AS severity
FROM event
WHERE kind = 'missed tick'
GROUP BY run, host
ORDER BY times DESC, run, host
