-- title: The recorder came too late for samples
-- severity: warning
-- section: facts
-- says: {times} times samples were missed; the first time: {message}.
-- advice: The machine was too busy to let the recorder run, or the interval is too short. Rates are right all the same, for longer intervals; short peaks may be missing.
-- ask: events
-- yes: event kind="missed tick" subject=recorder message="2 ticks late" *4
-- no: event kind=mark subject=recorder message=x *4
-- A single one is good to know, three are a habit.
SELECT run, host, count(*) AS times, arg_min(message, t) AS message, CASE WHEN count(*) >= 3 THEN 'warning' ELSE 'info' END AS severity
FROM event
WHERE kind = 'missed tick'
GROUP BY run, host
ORDER BY times DESC, run, host
