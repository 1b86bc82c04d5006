-- The time in which each run's load ran, and how much of it: what other tables say of other times is left out.
WITH span AS (
    SELECT r.run, coalesce(min(epoch_us(l.t) - coalesce(l.dt, 0) * 1e6), -9e18) AS begin_us,
        coalesce(max(epoch_us(l.t)), 9e18) AS end_us,
        sum(l.transactions_per_s * coalesce(l.dt, 1)) / sum(coalesce(l.dt, 1)) AS per_s
    FROM runs r LEFT JOIN load l ON l.run = r.run AND l.operation IS NULL AND l.transactions_per_s IS NOT NULL
    GROUP BY r.run
),
