-- What active sessions of clients were at: the mean number of them over the run, by class of activity.
SELECT run, activity, min(measured) AS measured, sum(sessions) AS sessions
FROM db_best_wait
WHERE in_db_time
GROUP BY run, activity
ORDER BY run, activity
