-- title: What was memory used for?
-- about: The host's memory by use: programs, page cache, shared, kernel, reserved huge pages, free; the parts add up to the total.
-- section: memory
-- chart: stacked
-- x: t
-- y: programs, cache, shared, kernel, huge_pages, other, free
-- unit: B
-- order: 10
WITH parts AS (
    SELECT run, host, t, dt, total_bytes, anon_bytes AS programs,
        greatest(cached_bytes - coalesce(shmem_bytes, 0), 0) + coalesce(buffers_bytes, 0) AS cache,
        shmem_bytes AS shared,
        coalesce(slab_reclaimable_bytes, 0) + coalesce(slab_unreclaimable_bytes, 0)
            + coalesce(kernel_stack_bytes, 0) + coalesce(page_tables_bytes, 0) AS kernel,
        huge_total_bytes AS huge_pages, free_bytes AS free
    FROM mem
)
SELECT run, host, t, dt, programs, cache, shared, kernel, huge_pages,
    greatest(total_bytes - coalesce(programs, 0) - coalesce(cache, 0) - coalesce(shared, 0) - kernel
        - coalesce(huge_pages, 0) - coalesce(free, 0), 0) AS other,
    free
FROM parts
ORDER BY run, host, t
