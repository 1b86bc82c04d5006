-- Rows of cpu with how busy a CPU was; two files of an import on the same time count once: a row counts whose middle is behind
-- the end of that before it.
SELECT *, 100 - idle - coalesce(iowait, 0) AS busy
FROM cpu
WHERE idle IS NOT NULL
QUALIFY coalesce(epoch_us(t) - coalesce(dt, 0) * 5e5 > lag(epoch_us(t)) OVER (PARTITION BY run, host, cpu ORDER BY t, dt), true)
