-- title: Random requests do not fit the stripes below them
-- severity: info
-- section: disk
-- message: {share:%} of {ops:/s} random {op}s on {mount} (O_DIRECT, {size:B} in the mean) {what} {unit:B} of {device}.
-- advice: `fenxi stripe RUN --mount MOUNT` compares stripe units for these requests. A unit of the size of a request or more keeps each on one disk; where parity has to be read before small writes, mirrors or a cache that survives a power loss avoid it. Normal where a few requests at a time are to use all disks.
-- ask: io-pattern
-- yes: text topic=mount name=/data phase=start value="/dev/md0 xfs rw,noatime"
-- yes: text topic=block name="md0 md/chunk_size" phase=start value=65536
-- yes: text topic=block name="md0 md/level" phase=start value=raid0
-- yes: text topic=block name="md0 md/raid_disks" phase=start value=4
-- yes: io_pattern mount=/data op=read pattern="direct random" ops_per_s=500 size_bytes=131072 *30
--
-- yes: text topic=mount name=/data phase=start value="/dev/md0 ext4 rw"
-- yes: text topic=block name="md0 md/chunk_size" phase=start value=524288
-- yes: text topic=block name="md0 md/level" phase=start value=raid5
-- yes: text topic=block name="md0 md/raid_disks" phase=start value=4
-- yes: io_pattern mount=/data op=write pattern="direct random" ops_per_s=500 size_bytes=16384 *30
-- no: text topic=mount name=/data phase=start value="/dev/md0 ext4 rw"
-- no: text topic=block name="md0 md/chunk_size" phase=start value=524288
-- no: text topic=block name="md0 md/level" phase=start value=raid0
-- no: text topic=block name="md0 md/raid_disks" phase=start value=4
-- no: io_pattern mount=/data op=write pattern="direct random" ops_per_s=500 size_bytes=16384 *30
-- no: io_pattern mount=/data op=read pattern="sequential" ops_per_s=500 size_bytes=1048576 *30
--
-- no: text topic=mount name=/data phase=start value="/dev/md1 ext4 rw"
-- no: text topic=block name="md1 md/chunk_size" phase=start value=0
-- no: text topic=block name="md1 md/level" phase=start value=raid1
-- no: text topic=block name="md1 md/raid_disks" phase=start value=2
-- no: io_pattern mount=/data op=read pattern="direct random" ops_per_s=500 size_bytes=1048576 *30
--
-- no: text topic=mount name=/data phase=start value="/dev/sda1 xfs rw"
-- no: text topic=block name="md0 md/chunk_size" phase=start value=65536
-- no: text topic=block name="md0 md/level" phase=start value=raid0
-- no: text topic=block name="md0 md/raid_disks" phase=start value=4
-- no: io_pattern mount=/data op=read pattern="direct random" ops_per_s=500 size_bytes=131072 *30
-- Of requests without O_DIRECT the page cache serves and joins an unknown part, so only those with it count. A fifth of them is
-- enough to be seen in throughput; below 50/s no disk is busy.
WITH facts AS (
    SELECT run, host, topic, name, max_by(value, coalesce(phase, 'start')) AS value
    FROM text
    WHERE topic IN ('mount', 'block')
    GROUP BY run, host, topic, name
), arrays AS (
    SELECT run, host, split_part(name, ' ', 1) AS device,
        max(try_cast(value AS DOUBLE)) FILTER (WHERE name LIKE '% md/chunk_size') AS chunk,
        max(try_cast(value AS DOUBLE)) FILTER (WHERE name LIKE '% md/raid_disks') AS disks,
        max(value) FILTER (WHERE name LIKE '% md/level') AS level
    FROM facts
    WHERE topic = 'block' AND name LIKE '% md/%'
    GROUP BY run, host, device
), places AS (
    SELECT arrays.*, mounts.name AS mount,
        chunk * (disks - CASE level WHEN 'raid6' THEN 2 WHEN 'raid5' THEN 1 WHEN 'raid4' THEN 1 END) AS stripe
    FROM arrays
    JOIN (SELECT * FROM facts WHERE topic = 'mount') AS mounts
        ON mounts.run = arrays.run AND mounts.host = arrays.host AND split_part(mounts.value, ' ', 1) = '/dev/' || device
    WHERE chunk > 0
), judged AS (
    SELECT p.run, p.host, p.mount, p.device, p.stripe, p.chunk, i.op, i.ops_per_s, i.size_bytes, i.dt,
        i.op = 'write' AND p.stripe > i.size_bytes AS reads_first
    FROM places AS p
    JOIN io_pattern AS i ON i.run = p.run AND i.host = p.host AND i.mount = p.mount
    WHERE i.pattern = 'direct random' AND i.op IN ('read', 'write') AND i.ops_per_s > 0
), times AS (
    SELECT run, host, sum(d) AS total
    FROM (SELECT run, host, t, max(dt) AS d FROM io_pattern GROUP BY run, host, t) AS ticks
    GROUP BY run, host
), found AS (
    SELECT run, host, mount, device, op, max(CASE WHEN reads_first THEN 1 ELSE 0 END) = 1 AS rmw, max(stripe) AS stripe, max(chunk) AS chunk,
        sum(ops_per_s * dt) / max(total) AS ops,
        sum(ops_per_s * size_bytes * dt) / nullif(sum(ops_per_s * dt), 0) AS size,
        100.0 * sum(ops_per_s * dt) FILTER (WHERE coalesce(reads_first, false) OR size_bytes > chunk) / nullif(sum(ops_per_s * dt), 0) AS share
    FROM judged
    JOIN times USING (run, host)
    GROUP BY run, host, mount, device, op
)
SELECT run, host, mount, device, op, ops, size, share, CASE WHEN rmw THEN stripe ELSE chunk END AS unit,
    CASE WHEN rmw THEN 'are smaller than the stripe, so that data or parity is read first:' ELSE 'touch more than one stripe unit:' END AS what
FROM found
WHERE share >= 20 AND ops >= 50
ORDER BY ops DESC, run, host, mount, op
