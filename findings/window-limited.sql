-- title: Senders wait for room in the receiver's window
-- severity: warning
-- section: network
-- message: In {share:%} of the time in which a connection had data to send, the receiver's window was full ({limited} of {sending} such connections on average).
-- advice: The receiver reads too slowly, or its receive buffer is small. `ss -tim` shows `rwnd_limited` and the receiver's `rcv_ssthresh` of each connection, `fenxi ask thread-waits` what the process that should read is at. Leave SO_RCVBUF to the kernel, and see net.ipv4.tcp_rmem.
-- ask: tcp-health
-- impact: share of the time in which there is data to send
-- yes: tcp sending=1 window_limited=0.6 established=4
-- yes: tcp sending=1 window_limited=0.6 established=4 @2
-- yes: tcp sending=1 window_limited=0.6 established=4 @4
-- no: tcp sending=1 window_limited=0.15 established=4
-- no: tcp sending=1 window_limited=0.15 established=4 @2
-- no: tcp sending=1 window_limited=0.15 established=4 @4
--
-- no: tcp sending=0.1 window_limited=0.09 established=4
-- no: tcp sending=0.1 window_limited=0.09 established=4 @2
-- no: tcp sending=0.1 window_limited=0.09 established=4 @4
--
-- no: tcp sending=1 window_limited=0.9 established=4
-- no: tcp established=4 *20 @1
-- Sockets are asked after one, two, four intervals: two answers at least. A fifth of the time, and of one connection: a receiver that keeps up never fills its window for long.
WITH asked AS (
    SELECT run, host, avg(sending) AS sending, avg(window_limited) AS limited
    FROM tcp
    WHERE sending IS NOT NULL
    GROUP BY run, host
    HAVING count(*) >= 2
)
SELECT run, host, 100 * limited / sending AS share, steady(limited) AS limited, steady(sending) AS sending
FROM asked
WHERE limited >= 0.2 AND limited >= 0.2 * sending
ORDER BY limited DESC, run, host
