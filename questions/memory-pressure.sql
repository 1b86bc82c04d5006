-- title: Was memory short?
-- about: Major page faults, swapping and reclaim; sustained swapping, direct scans or refaults mean that memory was too small.
-- section: memory
-- chart: line
-- x: t
-- y: major_faults_per_s, swap_in_pages_per_s, swap_out_pages_per_s, scan_kswapd_pages_per_s, scan_direct_pages_per_s, refaults_file_per_s
-- unit: /s
-- order: 30
SELECT run, host, t, dt, major_faults_per_s, swap_in_pages_per_s, swap_out_pages_per_s, scan_kswapd_pages_per_s,
    scan_direct_pages_per_s, refaults_file_per_s
FROM vm
ORDER BY run, host, t
