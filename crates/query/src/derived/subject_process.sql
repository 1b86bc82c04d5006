-- The processes that a finding may be about: those that are measured (the recorded command with the others of its program, and those of
-- a database server that was observed), or all where none is. What a bystander does is no cause of what a command took.
WITH programs AS (
    SELECT DISTINCT run, host, comm FROM thread_wait WHERE role = 'command'
    UNION
    SELECT DISTINCT run, host, comm FROM process p WHERE comm IN ('postgres', 'mariadbd', 'mysqld') AND EXISTS (SELECT 1 FROM db WHERE db.run = p.run)
), known AS (
    SELECT run, host, pid, comm FROM process UNION SELECT run, host, pid, comm FROM thread
)
SELECT k.run, k.host, k.pid, k.comm
FROM known k
WHERE EXISTS (SELECT 1 FROM programs p WHERE p.run = k.run AND p.host = k.host AND p.comm = k.comm) OR NOT EXISTS (SELECT 1 FROM programs p WHERE p.run = k.run AND p.host = k.host)
