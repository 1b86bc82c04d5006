-- title: What system was this?
-- about: System facts as last read: kernel, CPUs, memory, mounts, schedulers, limits.
-- section: facts
-- chart: table
-- order: 30
-- param: topic = '', only this topic
SELECT run, host, topic, name, max_by(value, CASE WHEN phase = 'end' THEN 2 ELSE 1 END) AS value
FROM text
WHERE $topic = '' OR topic = $topic
GROUP BY run, host, topic, name
ORDER BY run, host, topic, name
