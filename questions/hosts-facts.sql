-- title: Which facts differ between hosts of one role?
-- about: Facts that are not the same on all hosts of a role (`--role`; all hosts without one): the value that most of them have, and the host with another value. Names and addresses, which always differ, are left out.
-- section: facts
-- chart: table
-- order: 16
WITH reported AS (
    SELECT f.run, f.host, coalesce(g.role, '') AS role, f.topic, f.name, max(f.value) AS value
    FROM text f LEFT JOIN host_role g ON g.run = f.run AND g.host = f.host
    WHERE coalesce(f.phase, 'start') = 'start' AND f.value IS NOT NULL
        AND f.topic NOT IN ('agent', 'host') AND f.name NOT IN ('hostname', 'boot id')
    GROUP BY f.run, f.host, g.role, f.topic, f.name
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY run, role, topic, name, value) AS same FROM reported
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, role, topic, name ORDER BY same DESC, value) AS place,
        count(*) OVER (PARTITION BY run, role, topic, name) AS hosts
    FROM counted
), usual AS (
    SELECT run, role, topic, name, value AS most_say, same AS as_many FROM placed WHERE place = 1 AND hosts >= 2
)
SELECT p.run, p.host, nullif(p.role, '') AS role, p.topic, p.name, left(p.value, 120) AS value, left(u.most_say, 120) AS most_say, u.as_many AS hosts_that_say_so
FROM placed p JOIN usual u ON u.run = p.run AND u.role = p.role AND u.topic = p.topic AND u.name = p.name
WHERE p.value <> u.most_say
ORDER BY p.run, p.role, p.topic, p.name, p.host
