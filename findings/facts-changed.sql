-- title: Settings changed during the run
-- severity: info
-- section: facts
-- message: {fact} changed: {change}.
-- advice: Start and end of this run are not the same system; a comparison may need a window that excludes one of them.
-- ask: what-changed
-- comparison: warn
-- yes: event kind="fact changed" subject=thp.enabled message="[always] -> [never]" @5
-- no: event kind=mark subject=x message=y @5
SELECT run, host, subject AS fact, substr(any_value(message), 1, 120) AS change
FROM event
WHERE kind = 'fact changed'
GROUP BY run, host, subject
ORDER BY run, host, subject
