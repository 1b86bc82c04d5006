-- title: Programs wait for page-ins from disk
-- severity: warning
-- section: memory
-- message: There were {faults:/s} major page faults, over {seen_s:s}.
-- advice: Mapped files or executables do not stay in memory: check whether memory is short, or whether mapped files exceed it. Normal in the first seconds of a program.
-- ask: page-faults
-- yes: vm major_faults_per_s=300 *30
-- no: vm major_faults_per_s=2 *30
--
-- no: vm major_faults_per_s=900 *2
-- no: vm major_faults_per_s=0 *28 @2
-- Fifty a second at some milliseconds each are a good part of one thread's time on a disk; bad for a fifth of the run
-- at least, so that the start of a program is none.
-- Where the recorder started a command, or observed a database, that waited for memory or a disk hardly ever, it is what others had: a fact.
SELECT v.run, v.host, wmean(major_faults_per_s, dt) AS faults, sum(dt) AS seen_s, CASE WHEN any_value(m.disk + m.memory) < 5 THEN 'info' ELSE 'warning' END AS severity
FROM vm v LEFT JOIN measured_wait m ON m.run = v.run AND m.host = v.host
GROUP BY v.run, v.host
HAVING wmean(major_faults_per_s, dt) >= 50 AND sum(CASE WHEN major_faults_per_s >= 50 THEN dt ELSE 0 END) >= greatest(3, 0.2 * sum(dt))
ORDER BY faults DESC, v.run, v.host
