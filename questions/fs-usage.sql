-- title: How full are the file systems?
-- about: Space and inodes at the end of the run, and the growth of used space during it; a full file system stops programs.
-- section: disk
-- chart: table
-- order: 60
SELECT run, host, mount, max_by(device, t) AS device, max_by(fstype, t) AS fstype, max_by(used, t) AS used,
    max_by(total_bytes, t) AS total_bytes, max_by(used_bytes, t) AS used_bytes,
    max_by(available_bytes, t) AS available_bytes,
    max_by(used_bytes, t) - min_by(used_bytes, t) AS growth_bytes,
    max_by(inodes_used, t) AS inodes_used
FROM fs
GROUP BY run, host, mount
ORDER BY run, host, used DESC NULLS LAST, mount
