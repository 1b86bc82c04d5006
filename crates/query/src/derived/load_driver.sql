-- Programs that drive a load: what they take, and when they pause, is what they were asked for.
SELECT 'fenxi' AS comm
UNION ALL SELECT 'pgbench'
UNION ALL SELECT 'sysbench'
UNION ALL SELECT 'wrk'
UNION ALL SELECT 'wrk2'
UNION ALL SELECT 'mysqlslap'
UNION ALL SELECT 'fio'
UNION ALL SELECT 'iperf3'
UNION ALL SELECT 'netperf'
UNION ALL SELECT 'redis-benchmark'
