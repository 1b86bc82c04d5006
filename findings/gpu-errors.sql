-- title: A GPU reported errors
-- severity: warning
-- section: gpu
-- message: {subject}: {errors}.
-- advice: Errors of the GPU, its memory or its links: do not trust what it computed; look at the kernel log and at nvidia-smi -q, reset it, and have it replaced if they come back. Errors of a program (13, 31, 43): run it with compute-sanitizer; on several programs it is the GPU. Errors that ECC corrected are harmless by themselves; many of them come before others.
-- ask: events
-- yes: event kind="gpu error" subject="gpu 0" message="Xid 79: the GPU has fallen off the bus" @5
--
-- yes: event kind="gpu error" subject="gpu 0" message="Xid 31: page fault in GPU memory: as a rule an error of the program" @5
-- yes: event kind="gpu error" subject="gpu 0" message="Xid 31: page fault in GPU memory: as a rule an error of the program" @6
--
-- yes: event kind=log subject=kernel message="NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus." @5
--
-- yes: event kind=log subject=kernel message="[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=71, emitted seq=73" @5
--
-- yes: gpu gpu=0 ecc_uncorrected=0 *5
-- yes: gpu gpu=0 ecc_uncorrected=1 @5
-- fact: gpu gpu=0 ecc_corrected=3 *5
-- no: gpu gpu=0 ecc_corrected=0 ecc_uncorrected=0 *20
--
-- no: event kind=log subject=kernel message="NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15" @5
--
-- no: event kind=log subject=app message="Xid 79 is a number" @5
--
-- no: event kind="gpu error" subject="gpu 0" message="Xid 45: a program's channels were removed: it ended, or failed before" @5
-- One is enough, but for the end of a program (45). Xids of the GPU itself, of its memory and its links are critical; those of a program are a warning. A recording has
-- them of the driver, and the kernel's log has them too: an Xid of one number is counted once. Errors that ECC corrected are a fact.
WITH reported AS (
    SELECT run, host, subject, message, nullif(regexp_extract(message, '^Xid ([0-9]+)', 1), '') AS xid FROM event WHERE kind = 'gpu error'
), logged AS (
    SELECT run, host, coalesce('GPU at ' || nullif(regexp_extract(message, 'NVRM: Xid \(PCI:([^)]*)\)', 1), ''), 'the kernel') AS subject,
        nullif(regexp_extract(message, 'NVRM: Xid \([^)]*\): ([0-9]+)', 1), '') AS xid, message
    FROM event
    WHERE kind = 'log' AND regexp_matches(message, 'NVRM: Xid \(|amdgpu.*(ring .* timeout|GPU reset begin|VRAM is lost)|i915.*GPU HANG|\[drm\] GPU HANG')
), known AS (
    SELECT run, host, subject, xid, message FROM reported
    UNION ALL
    SELECT run, host, subject, xid, CASE WHEN xid IS NULL THEN message ELSE 'Xid ' || regexp_extract(message, 'NVRM: Xid \([^)]*\): (.*)', 1) END FROM logged l
    WHERE NOT EXISTS (SELECT 1 FROM reported t WHERE t.run = l.run AND t.host = l.host AND t.xid = l.xid)
), counted AS (
    SELECT run, host, subject, coalesce(xid, message) AS what, min(message) AS message, count(*) AS n, max(TRY_CAST(xid AS BIGINT)) AS xid
    FROM known WHERE coalesce(xid, '') <> '45'
    GROUP BY run, host, subject, coalesce(xid, message)
), memory AS (
    SELECT run, host, 'gpu ' || gpu || coalesce(' instance ' || instance, '') AS subject, sum(ecc_uncorrected) AS uncorrected, sum(ecc_corrected) AS corrected FROM gpu GROUP BY run, host, gpu, instance
), found AS (
    SELECT run, host, subject, CASE WHEN n = 1 THEN '' ELSE CAST(n AS VARCHAR) || ' times ' END || message AS errors, n,
        CASE WHEN xid IN (13, 31, 32, 43, 69) THEN 'warning' ELSE 'critical' END AS severity
    FROM counted
    UNION ALL
    SELECT run, host, subject, CAST(CAST(uncorrected AS BIGINT) AS VARCHAR) || ' memory errors that ECC could not correct', uncorrected, 'critical'
    FROM memory WHERE uncorrected > 0
    UNION ALL
    SELECT run, host, subject, CAST(CAST(corrected AS BIGINT) AS VARCHAR) || ' memory errors that ECC corrected', corrected, 'info'
    FROM memory WHERE corrected > 0 AND coalesce(uncorrected, 0) = 0
)
SELECT run, host, subject, errors, severity
FROM found
ORDER BY severity, n DESC, run, host, subject, errors
