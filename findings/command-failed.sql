-- title: The recorded command failed
-- severity: warning
-- section: result
-- message: {command} ended with status {status}.
-- advice: Check its output before using any figure of this run. Some programs intentionally exit with a status other than 0, such as grep without a match.
-- ask: result-summary
-- comparison: warn
-- yes: run exit_status=3
-- no: run exit_status=0
--
-- no: cpu idle=100 *3
-- 124 and 143 are how a time limit ends a command, which was asked for.
SELECT run, host, substr(coalesce(command, 'the command'), 1, 60) AS command, exit_status AS status
FROM runs
WHERE exit_status NOT IN (0, 124, 143)
ORDER BY run
