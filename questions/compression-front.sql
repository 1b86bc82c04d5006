-- title: Which compression for this data?
-- about: Compression ratio against speed of formats and levels, as measured by `fenxi tamp bench`; those on the Pareto front are beaten by no other in both.
-- section: result
-- chart: scatter
-- x: compress_mb_per_s
-- y: saved_pct
-- series: mode
-- order: 15
WITH modes AS (
    SELECT run, m.host, replace(labels, 'mode=', '') AS mode,
        max(value) FILTER (name = 'tamp ratio') AS ratio,
        max(value) FILTER (name = 'tamp compress') / 1e6 AS compress_mb_per_s,
        max(value) FILTER (name = 'tamp decompress') / 1e6 AS decompress_mb_per_s,
        max(value) FILTER (name = 'tamp compress per cpu') / 1e6 AS compress_mb_per_cpu_s,
        max(value) FILTER (name = 'tamp decompress per cpu') / 1e6 AS decompress_mb_per_cpu_s
    FROM metric m
    WHERE starts_with(name, 'tamp ')
    GROUP BY run, m.host, labels
)
SELECT run, host, mode,
    CASE WHEN NOT EXISTS (
        SELECT 1 FROM modes other
        WHERE other.run = modes.run AND other.host = modes.host
            AND other.ratio <= modes.ratio AND other.compress_mb_per_s >= modes.compress_mb_per_s
            AND (other.ratio < modes.ratio OR other.compress_mb_per_s > modes.compress_mb_per_s)
    ) THEN 'front' END AS front,
    100 * (1 - ratio) AS saved_pct, ratio, compress_mb_per_s, decompress_mb_per_s, compress_mb_per_cpu_s, decompress_mb_per_cpu_s
FROM modes
ORDER BY run, host, compress_mb_per_s DESC
