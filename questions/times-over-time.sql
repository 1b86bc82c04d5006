-- title: When did latencies and sizes change?
-- about: Histograms over time (heat map): each column is an interval, each row a bucket, bright where most values are. A second band or an intermittent tail is what percentiles blur. The histograms with the most values of each kind are shown.
-- section: result
-- chart: histogram
-- x: lo
-- y: n_values
-- series: what
-- order: 61
-- param: each = 2, how many histograms of each name to show
WITH moments AS (
    SELECT run, host, name, labels,
        row_number() OVER (PARTITION BY run, host, name ORDER BY sum(histogram.count) DESC, labels) AS place
    FROM histogram
    GROUP BY run, host, name, labels
    HAVING count(DISTINCT t) > 1
), merged AS (
    SELECT h.run, h.host, concat_ws(' ', h.name, h.labels) AS what, h.t, h.lo, h.hi, any_value(h.unit) AS unit, sum(h.count) AS n_values
    FROM histogram h JOIN moments m ON h.run = m.run AND h.host = m.host AND h.name = m.name AND h.labels IS NOT DISTINCT FROM m.labels
    WHERE place <= $each
    GROUP BY h.run, h.host, what, h.t, h.lo, h.hi
    HAVING sum(h.count) > 0
)
SELECT run, merged.host, what, (epoch_us(t) - epoch_us(runs.start)) / 1e6 AS at_s, lo, hi, unit, n_values
FROM merged JOIN runs USING (run)
ORDER BY run, merged.host, what, at_s, lo, hi NULLS LAST
