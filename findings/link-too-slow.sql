-- title: Samples of a host were dropped
-- severity: warning
-- section: facts
-- message: {samples} samples of this host were dropped, as the link to it was too slow for too long.
-- advice: Its figures lack them. Record fewer sources of it (--source HOST:-process), use a longer interval, or a better link.
-- ask: hosts
-- kind: measurement
-- world: recording
-- yes: agent host=db1 dropped=3 *5
-- no: agent host=db1 dropped=0 waiting=40 *30
SELECT run, host, sum(dropped) AS samples
FROM agent
GROUP BY run, host
HAVING sum(dropped) > 0
ORDER BY samples DESC, run, host
