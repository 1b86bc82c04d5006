-- title: How were latencies and sizes distributed?
-- about: Histograms as tools printed or measured them: the share of values in each bucket, and the cumulative share. Two humps are two kinds of work; a long tail is what a mean hides. The histograms with the most values of each kind are shown.
-- section: result
-- chart: histogram
-- x: lo
-- y: n_values
-- series: what
-- order: 60
-- param: each = 4, how many histograms of each name to show
WITH merged AS (
    SELECT run, h.host, name, labels, lo, hi, any_value(unit) AS unit, sum(h.count) AS n_values
    FROM histogram h
    GROUP BY run, h.host, name, labels, lo, hi
    HAVING sum(h.count) > 0
), whole AS (
    SELECT run, host, name, labels, sum(n_values) AS n_all,
        row_number() OVER (PARTITION BY run, host, name ORDER BY sum(n_values) DESC, labels) AS place
    FROM merged
    GROUP BY run, host, name, labels
)
SELECT m.run, m.host, concat_ws(' ', m.name, m.labels) AS what, lo, hi, unit, n_values,
    100 * sum(n_values) OVER (PARTITION BY m.run, m.host, m.name, m.labels ORDER BY lo, hi NULLS LAST) / n_all AS up_to_pct
FROM merged m JOIN whole w
    ON m.run = w.run AND m.host = w.host AND m.name = w.name AND m.labels IS NOT DISTINCT FROM w.labels
WHERE place <= $each
ORDER BY m.run, m.host, what, lo, hi NULLS LAST
