-- How busy the CPUs of each host were on average, percent: `busy` is all that was not idle or waiting for storage. Tables of single CPUs
-- give it where there is no row of all together.
SELECT run, host, wmean(100 - idle - coalesce(iowait, 0), coalesce(dt, 1)) AS busy
FROM cpu c
WHERE idle IS NOT NULL AND (cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL))
GROUP BY run, host
