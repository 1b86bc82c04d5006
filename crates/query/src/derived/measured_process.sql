-- The processes that are measured: those that the recorder started with the others of their program, and those of a database server
-- that was observed. Otherwise it is unknown which process disturbs which.
SELECT DISTINCT p.run, p.host, p.pid
FROM process p JOIN (SELECT DISTINCT run, host, comm FROM thread_wait WHERE role = 'command') c ON c.run = p.run AND c.host = p.host AND c.comm = p.comm
UNION
SELECT DISTINCT s.run, s.host, p.pid
FROM db_session s JOIN process p ON p.run = s.run AND p.host = s.host AND p.pid = s.pid
UNION
SELECT DISTINCT p.run, p.host, p.pid
FROM process p WHERE p.comm IN ('postgres', 'mariadbd', 'mysqld') AND EXISTS (SELECT 1 FROM db WHERE db.run = p.run)
