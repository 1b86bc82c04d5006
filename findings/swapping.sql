-- title: The machine swaps
-- severity: warning
-- section: memory
-- message: For {bad_s:s} of {seen_s:s} pages were swapped in, {pages_in:/s} pages on average ({pages_out:/s} swapped out).
-- advice: Memory is too small for what runs, or a limit is too tight. Every swap-in is a disk access that a program waits for. A burst while a program starts is harmless.
-- ask: memory-pressure
-- explains: major-faults, memory-pressure
-- impact: bad_s / seen_s of the time
-- names: memory
-- yes: vm swap_in_pages_per_s=800 swap_out_pages_per_s=900 *30
-- no: vm swap_in_pages_per_s=0 swap_out_pages_per_s=0 *30
--
-- no: vm swap_in_pages_per_s=800 *2
-- no: vm swap_in_pages_per_s=0 *28 @2
--
-- no: vm swap_out_pages_per_s=900 *30
--
-- yes: vm swap_in_bytes_per_s=4e6 swap_out_bytes_per_s=9e6 *30
-- no: vm swap_in_bytes_per_s=4e3 *30
-- Tools that print bytes have pages of 4 KiB. Only swapping in, which tasks wait for; a tenth of the run, so that one burst is none. A thousand pages a
-- second for half of the run is a machine that thrashes.
-- Where the recorder started a command, or observed a database, that waited for memory or a disk hardly ever, it is what others had: a fact.
WITH pages AS (
    SELECT run, host, dt, coalesce(swap_in_pages_per_s, swap_in_bytes_per_s / 4096) AS swap_in, coalesce(swap_out_pages_per_s, swap_out_bytes_per_s / 4096) AS swap_out
    FROM vm
), hosts AS (
    SELECT run, host, sum(CASE WHEN swap_in >= 10 THEN dt ELSE 0 END) AS bad_s, sum(dt) AS seen_s,
        wmean(swap_in, dt) AS pages_in, coalesce(wmean(swap_out, dt), 0) AS pages_out
    FROM pages
    GROUP BY run, host
)
SELECT h.run, h.host, bad_s, seen_s, pages_in, pages_out,
    CASE WHEN m.disk + m.memory < 5 THEN 'info' WHEN bad_s >= 0.5 * seen_s AND pages_in >= 1000 THEN 'critical' ELSE 'warning' END AS severity
FROM hosts h LEFT JOIN measured_wait m ON m.run = h.run AND m.host = h.host
WHERE bad_s >= 0.1 * seen_s AND bad_s >= 3
ORDER BY pages_in DESC, h.run, h.host
