-- title: A host was lost during the run
-- severity: warning
-- section: facts
-- message: This host was lost {times:time|times}, and came back {returns} times; the first time: {message}.
-- advice: There are no samples of it from then on, or until it came back, and figures over the whole run are of the rest. See what its own logs and those of the network say of that moment.
-- ask: events
-- kind: measurement
-- world: recording
-- yes: event host=db1 kind="host lost" subject=db1 message="nothing was heard of it for 5 s" @4
-- no: event host=db1 kind=mark subject=db1 message=x @4
SELECT run, host, count(*) FILTER (kind = 'host lost') AS times, count(*) FILTER (kind = 'host back') AS returns,
    arg_min(message, t) FILTER (kind = 'host lost') AS message
FROM event
WHERE kind IN ('host lost', 'host back')
GROUP BY run, host
HAVING count(*) FILTER (kind = 'host lost') > 0
ORDER BY times DESC, run, host
