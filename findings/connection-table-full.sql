-- title: The kernel's table of connections is full
-- severity: critical
-- section: network
-- message: The kernel dropped packets, as its table of tracked connections was full ({n:line|lines} of its log, which leaves out most).
-- advice: New connections time out, old ones go on. Raise net.netfilter.nf_conntrack_max, let entries end sooner (nf_conntrack_tcp_timeout_time_wait), do not track what no rule needs (NOTRACK), or keep connections open.
-- ask: events
-- explains: connects-wait, program-sleeps, waits-for-peer, tcp-retransmits, load-errors, connection-for-each
-- yes: event kind=log subject=kernel message="nf_conntrack: nf_conntrack: table full, dropping packet" @5
-- yes: sched cpus_online=4 *20
-- no: event kind=log subject=kernel message="nf_conntrack: falling back to vmalloc" @5
-- no: sched cpus_online=4 *20
-- One is enough: the kernel logs it a few times in five seconds at most.
SELECT run, host, count(*) AS n
FROM event
WHERE kind = 'log' AND message LIKE '%nf_conntrack%table full%'
GROUP BY run, host
ORDER BY n DESC, run, host
