-- title: A file system is nearly full
-- severity: warning
-- section: disk
-- message: {mount} was up to {full_pct:%} full[, with {left_bytes:B} left].
-- advice: Writes slow down and then fail; free space, or make sure that the run does not fill it. Space reserved for root counts as used.
-- ask: fs-usage
-- yes: fs mount=/data fstype=ext4 used=97 total_bytes=1e11 available_bytes=3e9 *3
--
-- fact: fs mount=/data fstype=ext4 used=93 total_bytes=1e11 available_bytes=7e9 *3
--
-- fact: fs mount=/data fstype=xfs used=97 total_bytes=1e13 available_bytes=3e11 *3
--
-- fact: fs mount=/oracle used=91.5 *3
--
-- yes: fs mount=/data fstype=ext4 used=20 inodes_used=99.5 total_bytes=1e11 available_bytes=8e10 *3
-- no: fs mount=/data fstype=ext4 used=50 total_bytes=1e11 available_bytes=5e10 *3
--
-- no: fs mount=/snap/x fstype=squashfs used=100 total_bytes=1e8 available_bytes=0 *3
-- 90 % is where most file systems begin to have trouble to find room in one piece; that is a fact. At 95 %, with less than 20 GB left, a run may fill it,
-- at 98 % the next large file fails; what is left in inodes is known as a share only.
-- Images that are read only are full by nature. At its fullest: what a program deletes when it fails is not there at the end.
WITH fullest AS (
    SELECT run, host, mount, greatest(coalesce(used, 0), coalesce(inodes_used, 0)) AS full_pct, available_bytes AS left_bytes,
        coalesce(inodes_used, 0) >= coalesce(used, 0) OR coalesce(available_bytes, 0) < 20e9 AS is_little
    FROM fs
    WHERE coalesce(fstype, '') NOT IN ('squashfs', 'iso9660', 'erofs', 'udf', 'cramfs', 'efivarfs', 'overlay') AND coalesce(total_bytes, 1) > 0
    QUALIFY row_number() OVER (PARTITION BY run, host, mount ORDER BY greatest(coalesce(used, 0), coalesce(inodes_used, 0)) DESC, t DESC) = 1
)
SELECT run, host, mount, full_pct, left_bytes, CASE WHEN full_pct >= 98 AND is_little THEN 'critical' WHEN full_pct >= 95 AND is_little THEN 'warning' ELSE 'info' END AS severity
FROM fullest
WHERE full_pct >= 90
ORDER BY full_pct DESC, run, host, mount
