-- title: Moments of a host are uncertain
-- severity: warning
-- section: facts
-- message: For {unsure_s:s} of {seen_s:s}, moments of this host were uncertain by up to {uncertainty:s} against those of the recorder's.
-- advice: Which of two events on different hosts came first is not known within that time. The link to the host is slow or was cut: see its round trips. Rates and shares of the host itself are right, as it measures its intervals by its own clock.
-- ask: hosts
-- kind: measurement
-- yes: agent host=db1 clock_uncertainty_s=0.02 *30
-- no: agent host=db1 clock_uncertainty_s=0.0004 *30
--
-- no: agent host=db1 clock_uncertainty_s=0.02 *2
-- no: agent host=db1 clock_uncertainty_s=0.0004 *28 @2
-- Ten milliseconds, or a tenth of the interval where that is shorter: less does not move a sample to another interval.
WITH seen AS (
    SELECT run, host, max(clock_uncertainty_s) AS uncertainty,
        sum(CASE WHEN clock_uncertainty_s > least(0.01, 0.1 * dt) THEN dt ELSE 0 END) AS unsure_s, sum(dt) AS seen_s
    FROM agent
    GROUP BY run, host
)
SELECT run, host, uncertainty, unsure_s, seen_s
FROM seen
WHERE unsure_s >= 0.1 * seen_s AND unsure_s >= 3
ORDER BY uncertainty DESC, run, host
