-- title: Transparent huge pages are `always` on a database server
-- severity: info
-- section: memory
-- message: Transparent huge pages are set to `always` while {server} runs.
-- advice: Collapsing and compacting huge pages can cost memory and latency (thp_collapses_per_s, compact_stalls_per_s); database vendors recommend `madvise` or `never`. Harmless if neither occurs here.
-- ask: facts
-- yes: text topic=thp name=enabled phase=start value="[always] madvise never"
-- yes: process pid=4 comm=mongod cpu=3 *5
--
-- yes: text topic=thp name=enabled phase=start value="[always] madvise never"
-- yes: db server=localhost:5432 commits_per_s=10 *5
-- no: text topic=thp name=enabled phase=start value="always [madvise] never"
-- no: process pid=4 comm=mongod cpu=3 *5
--
-- no: text topic=thp name=enabled phase=start value="[always] madvise never"
-- no: process pid=4 comm=bash cpu=3 *5
WITH always AS (
    SELECT DISTINCT run, host FROM text WHERE topic = 'thp' AND name = 'enabled' AND value LIKE '%[always]%'
), servers AS (
    SELECT run, host, comm AS server FROM process
    WHERE comm IN ('postgres', 'postmaster', 'mysqld', 'mariadbd', 'mongod', 'redis-server', 'valkey-server', 'oracle', 'cassandra', 'clickhouse-serv')
    UNION
    SELECT run, host, server FROM db WHERE server IS NOT NULL
)
SELECT run, host, min(server) AS server
FROM always JOIN servers USING (run, host)
GROUP BY run, host
ORDER BY run, host
