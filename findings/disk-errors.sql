-- title: A disk reported errors
-- severity: critical
-- section: disk
-- message: {device} reported {n:error|errors}.
-- advice: Check the kernel log and the device's health (smartctl, nvme smart-log) before trusting any figure of this run, and back up its data.
-- ask: hot-disks
-- yes: disk device=sda class=disk errors=0 *20
-- yes: disk device=sda class=disk errors=3 @20
-- no: disk device=sda class=disk errors=0 *20
-- One is enough: retries inside the device take seconds.
SELECT run, host, device, CAST(sum(errors) AS BIGINT) AS n
FROM disk
GROUP BY run, host, device
HAVING sum(errors) > 0
ORDER BY n DESC, run, host, device
