-- title: Is a busy CPU a busy core?
-- about: Each core with the hardware threads that share it. A thread that is 100 % busy has the core to itself while the other one is idle, and about half of it while both are busy; so a core is at least as busy as its busier thread, and the machine is full before all threads are.
-- section: cpu
-- chart: table
-- order: 35
-- param: n = 32, how many cores to show
-- param: above = 50, utilisation in percent from which a hardware thread counts as busy
WITH listed AS (
    SELECT run, host, any_value(value) AS cores
    FROM text
    WHERE topic = 'cpu' AND name = 'threads of cores' AND coalesce(phase, 'start') = 'start'
    GROUP BY run, host
), cores AS (
    SELECT run, host, unnest(string_split(cores, ' ')) AS threads
    FROM listed
), threads AS (
    SELECT run, host, threads, unnest(string_split(threads, ',')) AS cpu
    FROM cores
), busy AS (
    SELECT run, host, threads, t, dt, greatest(0, 100 - idle - coalesce(iowait, 0)) AS busy
    FROM cpu JOIN threads USING (run, host, cpu)
    WHERE idle IS NOT NULL
), moments AS (
    SELECT run, host, threads, t, max(dt) AS dt, count(*) AS seen, avg(busy) AS thread_busy, max(busy) AS busiest,
        least(100, sum(busy)) AS together, sum(CASE WHEN busy >= $above THEN 1 ELSE 0 END) AS at_work
    FROM busy
    GROUP BY run, host, threads, t
), per_core AS (
    SELECT run, host, threads, any_value(seen) AS n_threads, wmean(thread_busy, dt) AS thread_busy,
        wmean(busiest, dt) AS core_busy_min, wmean(together, dt) AS core_busy_max,
        wmean(CASE WHEN at_work = 0 THEN 100 ELSE 0 END, dt) AS both_idle,
        wmean(CASE WHEN at_work = 1 THEN 100 ELSE 0 END, dt) AS one_alone,
        wmean(CASE WHEN at_work > 1 THEN 100 ELSE 0 END, dt) AS shared,
        row_number() OVER (PARTITION BY run, host ORDER BY wmean(busiest, dt) DESC, threads) AS place
    FROM moments
    GROUP BY run, host, threads
)
SELECT run, host, threads AS cpus, thread_busy, core_busy_min, core_busy_max, both_idle, one_alone, shared,
    CASE
        WHEN n_threads = 1 THEN 'one thread: what is busy is the core'
        WHEN shared >= 50 THEN 'its threads share the core: each runs slower than alone'
        WHEN one_alone >= 50 THEN 'one thread has the core: the idle one is no second core'
        ELSE ''
    END AS verdict
FROM per_core
WHERE place <= $n
ORDER BY run, host, place
