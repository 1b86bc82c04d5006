-- title: Accept queues overflow
-- severity: warning
-- section: network
-- message: {n:connection was|connections were} dropped because an accept queue was full{place}.
-- advice: The client retries after a second or more. Raise the listen backlog and net.core.somaxconn, and check why the server does not accept: usually its accepting thread is busy.
-- ask: tcp-health
-- explains: waits-for-peer, connects-wait
-- yes: tcp listen_overflows_per_s=4 *30
--
-- yes: netns namespace=4026532300 comm=nginx listen_overflows_per_s=4 *30
-- no: tcp listen_overflows_per_s=0 listen_drops_per_s=0 *30
-- Each is a client that waits for a second; from one a second on, some client always does.
SELECT run, host, CAST(round(sum(listen_overflows_per_s * dt)) AS BIGINT) AS n,
    CASE WHEN wmean(listen_overflows_per_s, dt) >= 1 THEN 'critical' ELSE 'warning' END AS severity, place
FROM tcp_space
GROUP BY run, host, namespace, place
HAVING sum(listen_overflows_per_s * dt) >= 1
ORDER BY n DESC, run, host
