-- title: How many page faults were there?
-- about: All page faults, and the major ones (with I/O); many minor ones come with starting programs and growing heaps.
-- section: memory
-- chart: line
-- x: t
-- y: faults_per_s, major_faults_per_s
-- unit: /s
-- order: 40
SELECT run, host, t, dt, faults_per_s, major_faults_per_s
FROM vm
ORDER BY run, host, t
