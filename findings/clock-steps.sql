-- title: The clock was set during the run
-- severity: warning
-- section: facts
-- message: The clock stepped {times:time|times}; the first time: {message}.
-- advice: Timestamps of this run do not match those of other hosts or logs before the step; intervals are correct, as they use the monotonic clock. Slew the clock, or synchronise it before a run.
-- ask: events
-- kind: measurement
-- yes: event kind="clock step" subject=recorder message="the clock was set forward by 3 s" @4
-- no: event kind=mark subject=recorder message=x @4
SELECT run, host, count(*) AS times, arg_min(message, t) AS message
FROM event
WHERE kind = 'clock step'
GROUP BY run, host
ORDER BY times DESC, run, host
