-- title: Storage counted media or checksum errors
-- severity: warning
-- section: disk
-- message: {device}: {errors}{during}.
-- advice: Data was damaged or nearly so: look at the kernel log and the device's health, scrub, and replace the disk, its cable or the memory before it fails. Clear the counters afterwards (`zpool clear`, `btrfs device stats -z`), so that new errors show.
-- ask: other-metrics
-- yes: metric name=zpool-status.checksum_errors labels="pool=tank,device=sdb" value=7 *1
-- yes: metric name=btrfs.corruption_errors labels="device=sdb" value=1788 *1
-- yes: metric name=nvme.media_errors labels="device=nvme0" value=2 *1
-- yes: metric name=smart.pending_sectors labels="device=sda" value=8 *1
--
-- yes: metric name=btrfs.read_errors labels="device=sdb" value=3 *1
-- yes: metric name=btrfs.read_errors labels="device=sdb" value=5 *1 @600
-- no: metric name=zpool-status.checksum_errors labels="pool=tank,device=sdb" value=0 *1
-- no: metric name=zpool-status.slow_ios labels="pool=tank,device=sdb" value=7 *1
-- no: metric name=smart.reallocated_sectors labels="device=sda" value=3 *1
-- no: metric name=smart.crc_errors labels="device=sda" value=40 *1
-- no: metric name=md.mismatches labels="device=md0" value=128 *1
-- no: metric name=other.read_errors labels="device=sda" value=9 *1
--
-- no: metric name=nvme.media_errors labels="device=nvme0" value=0 *1
-- no: metric name=nvme.media_errors labels="device=nvme0" value=0 *1 @600
-- One is enough. Sectors that were reallocated and errors of a cable are counted over a disk's life: they count where they rise in the run. So do
-- mismatches of md, which a check finds harmless in RAID 1 and 10 where a page changed while it was written, as swap does. Errors that rise
-- in the run are critical; those of before are a warning.
WITH steps AS (
    SELECT
        run, host, m.name AS name_of, labels, value,
        value - lag(value) OVER (PARTITION BY run, host, m.name, labels ORDER BY t) AS step
    FROM metric m
    WHERE m.name IN (
        'zpool-status.read_errors', 'zpool-status.write_errors', 'zpool-status.checksum_errors',
        'btrfs.read_errors', 'btrfs.write_errors', 'btrfs.flush_errors', 'btrfs.corruption_errors', 'btrfs.generation_errors',
        'md.mismatches', 'md.corrected_read_errors', 'nvme.media_errors', 'smart.reallocated_sectors', 'smart.pending_sectors',
        'smart.uncorrectable_sectors', 'smart.uncorrectable_errors', 'smart.crc_errors'
    )
),
counted AS (
    SELECT
        run, host, name_of,
        coalesce(nullif(regexp_extract(labels, '(^|,)pool=([^,]*)', 2), '') || ' ', '') || regexp_extract(labels, '(^|,)device=([^,]*)', 2) AS device,
        max(value) AS now, coalesce(sum(step) FILTER (WHERE step > 0), 0) AS rose
    FROM steps
    GROUP BY run, host, name_of, labels
),
found AS (
    SELECT run, host, device, name_of, now, rose
    FROM counted
    WHERE now > 0
        AND (rose > 0 OR name_of NOT IN ('md.mismatches', 'smart.reallocated_sectors', 'smart.crc_errors'))
)
SELECT
    run, host, device,
    string_agg(CAST(CAST(now AS BIGINT) AS VARCHAR) || ' ' || replace(split_part(name_of, '.', 2), '_', ' '), ', ' ORDER BY name_of) AS errors,
    CASE WHEN max(rose) > 0 THEN ', ' || CAST(CAST(sum(rose) AS BIGINT) AS VARCHAR) || ' of them in this run' ELSE '' END AS during,
    CASE WHEN max(rose) > 0 THEN 'critical' ELSE 'warning' END AS severity
FROM found
GROUP BY run, host, device
ORDER BY max(rose) DESC, sum(now) DESC, run, host, device
