-- title: A GPU is throttled
-- severity: warning
-- section: gpu
-- message: {name} was held down by {reason} for {held:%} of the time[: its clock was {clock:Hz}][ of {clock_limit:Hz}][, at {celsius:°C}][ and {power:W}][ (limit {power_limit:W})].
-- advice: Heat: better cooling (airflow, dust, the temperature of the room) or a lower power limit. Power limit: raise it where the machine allows (nvidia-smi -pl), or accept it. Power brake: the machine's power supply asks for it, see its capacity and log. All kernels are slower by as much; shares of cycles do not show it.
-- ask: gpus
-- world: gpu
-- impact: held of the time
-- yes: gpu gpu=0 model=H100 util=99 throttled_power=0 throttled_heat=90 clock_hz=1.1e9 clock_limit_hz=1.98e9 temperature_c=88 power_w=500 power_limit_w=700 *20
--
-- yes: gpu gpu=0 util=99 throttled_power=100 clock_hz=1.2e9 clock_limit_hz=1.98e9 power_w=699 power_limit_w=700 *20
--
-- yes: gpu gpu=0 util=99 throttled_brake=100 *20
--
-- yes: gpu gpu=0 util=99 throttled_heat=100 *20
-- fact: gpu gpu=0 util=99 throttled_power=100 clock_hz=1.9e9 clock_limit_hz=1.98e9 power_w=699 power_limit_w=700 *20
--
-- fact: gpu gpu=0 util=99 throttled_sync=100 *20
-- no: gpu gpu=0 util=99 throttled_power=0 throttled_heat=0 throttled_brake=0 throttled_sync=0 clock_hz=1.2e9 clock_limit_hz=1.98e9 *20
--
-- no: gpu gpu=0 util=99 throttled_power=100 clock_hz=1.2e9 clock_limit_hz=1.98e9 *1
-- no: gpu gpu=0 util=99 throttled_power=0 clock_hz=1.9e9 clock_limit_hz=1.98e9 *29 @1
--
-- no: gpu gpu=0 util=0 throttled_setting=100 clock_hz=2e8 clock_limit_hz=1.98e9 *20
-- A tenth of the time and three seconds. A GPU under full load reaches its power limit as designed: with nine tenths of its clock that is a
-- fact. Heat and the brake of the power supply are no design. Clocks that somebody set are a setting and no throttling.
WITH reasons AS (
    SELECT run, host, gpu, instance, 'heat' AS reason, 1 AS place, dt, throttled_heat AS held FROM gpu
    UNION ALL SELECT run, host, gpu, instance, 'its power supply (power brake)', 2, dt, throttled_brake FROM gpu
    UNION ALL SELECT run, host, gpu, instance, 'its power limit', 3, dt, throttled_power FROM gpu
    UNION ALL SELECT run, host, gpu, instance, 'another GPU of its group', 4, dt, throttled_sync FROM gpu
), held AS (
    SELECT run, host, gpu, instance, reason, place, wmean(held, coalesce(dt, 1)) AS held, sum(held * coalesce(dt, 1)) / 100 AS held_s
    FROM reasons WHERE held IS NOT NULL
    GROUP BY run, host, gpu, instance, reason, place
), state AS (
    SELECT run, host, gpu, instance, max(model) AS model, max(clock_limit_hz) AS limit_hz, max(power_limit_w) AS power_limit,
        wmean(CASE WHEN is_held THEN clock_hz END, coalesce(dt, 1)) AS clock, max(CASE WHEN is_held THEN temperature_c END) AS celsius,
        wmean(CASE WHEN is_held THEN power_w END, coalesce(dt, 1)) AS power
    FROM (SELECT *, greatest(throttled_heat, throttled_brake, throttled_power, throttled_sync) > 0 AS is_held FROM gpu)
    GROUP BY run, host, gpu, instance
)
SELECT h.run, h.host, 'GPU ' || h.gpu || coalesce('.' || h.instance, '') || coalesce(' (' || s.model || ')', '') AS name, h.reason, h.held, s.clock, s.limit_hz AS clock_limit,
    s.celsius, s.power, s.power_limit,
    CASE WHEN h.place = 4 OR h.place = 3 AND s.clock >= 0.9 * s.limit_hz THEN 'info' WHEN h.place < 3 AND h.held >= 50 AND s.clock < 0.5 * s.limit_hz THEN 'critical' ELSE 'warning' END AS severity
FROM held h
JOIN state s ON s.run = h.run AND s.host = h.host AND s.gpu = h.gpu AND s.instance IS NOT DISTINCT FROM h.instance
WHERE h.held >= 10 AND h.held_s >= 3
ORDER BY h.place, h.held DESC, h.run, h.host, h.gpu, h.instance
