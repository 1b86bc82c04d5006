-- title: The clock of a host is set differently
-- severity: info
-- section: facts
-- message: The clock of this host differs by {offset_s:s} from the recorder's.
-- advice: Moments of the run are corrected; times in logs of that host are not. Synchronise the clocks (chrony, systemd-timesyncd) before reading logs of several hosts side by side.
-- ask: hosts
-- yes: agent host=db1 clock_offset_s=-3 clock_uncertainty_s=0.001 *10
-- no: agent host=db1 clock_offset_s=0.02 clock_uncertainty_s=0.001 *10
-- A tenth of a second: clocks that NTP disciplines are within some milliseconds, also over the internet.
SELECT run, host, arg_max(clock_offset_s, abs(clock_offset_s)) AS offset_s
FROM agent
GROUP BY run, host
HAVING max(abs(clock_offset_s)) >= 0.1
ORDER BY max(abs(clock_offset_s)) DESC, run, host
