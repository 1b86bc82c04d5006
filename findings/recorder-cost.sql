-- title: Recording overhead is high
-- severity: warning
-- section: facts
-- message: The recorder used {share:%} of one CPU; most of it, {most:%}, for {source}.
-- advice: Use a longer interval (--interval) or omit the source (--source -NAME), as the overhead is part of what is measured.
-- kind: measurement
-- world: recording
-- yes: cost source=process samples=30 cpu_s=3
-- yes: cost source=cpu samples=30 cpu_s=0.1
-- yes: cost source="recorder in all" samples=30 cpu_s=3.2
-- yes: cpu idle=90 *30
-- no: cost source=process samples=30 cpu_s=0.06
-- no: cpu idle=90 *30
--
-- no: cost source=process samples=3 cpu_s=0.3
-- no: cpu idle=90 *3
-- Two percent of one CPU: more than noise on a small machine. Of a run below half a minute the start and the end are a good part, so
-- that it takes five percent; below five seconds they are most of it.
WITH costs AS (
    SELECT run, coalesce(max(cpu_s) FILTER (source = 'recorder in all'), sum(cpu_s)) AS total_s,
        max(cpu_s) FILTER (source <> 'recorder in all') AS most_s,
        max_by(source, cpu_s) FILTER (source <> 'recorder in all') AS source
    FROM cost GROUP BY run
)
SELECT run, host, 100 * total_s / nullif(duration_s, 0) AS share, 100 * most_s / nullif(duration_s, 0) AS most, source
FROM costs JOIN runs USING (run)
WHERE total_s >= CASE WHEN duration_s >= 30 THEN 0.02 ELSE 0.05 END * duration_s AND duration_s >= 5
ORDER BY share DESC, run
