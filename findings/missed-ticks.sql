-- title: The recorder missed samples
-- severity: warning
-- section: facts
-- message: {missed} of {due} samples are missing ({share:%}).
-- advice: The machine was too busy to schedule the recorder, or the interval is too short. Rates stay correct, over longer intervals; short peaks may be missing.
-- ask: events
-- comparison: warn
-- kind: measurement
-- world: recording
-- yes: run samples=50 missed=10
-- yes: cpu idle=60 *60
-- no: run samples=600 missed=4
-- no: cpu idle=60 *60
--
-- no: cpu idle=60 *60
-- Below one in fifty a mean does not show it; each gap is an event of the run.
SELECT run, host, missed_samples AS missed, samples + missed_samples AS due, 100.0 * missed_samples / (samples + missed_samples) AS share
FROM runs
WHERE missed_samples > 0 AND missed_samples > 0.02 * (samples + missed_samples)
ORDER BY share DESC, run
