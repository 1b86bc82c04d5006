-- title: The memory of a GPU is nearly full
-- severity: warning
-- section: gpu
-- message: {name} had up to {used:%} of its memory in use, {left_bytes:B} of {total_bytes:B} were left[; most by {comm}][ (process {pid})][: {held_bytes:B}].
-- advice: The next allocation fails, or the program makes room and is slow: smaller batches or a smaller cache, or a larger GPU. Harmless where a program takes all memory at its start to divide it by itself (JAX, vLLM): then its own figures count.
-- ask: gpu-processes
-- world: gpu
-- yes: gpu gpu=0 memory_used_bytes=8.45e10 memory_total_bytes=8.55e10 *10
-- yes: gpu_process gpu=0 pid=7 comm=python3 memory_bytes=8.4e10 *10
--
-- yes: gpu gpu=0 instance=1 memory_used_bytes=9.95e9 memory_total_bytes=1e10 *3
-- fact: gpu gpu=0 memory_used_bytes=8.1e10 memory_total_bytes=8.55e10 *10
-- no: gpu gpu=0 memory_used_bytes=6e10 memory_total_bytes=8.55e10 *10
--
-- no: gpu gpu=0 memory_used_bytes=6e10 *10
-- At its fullest: a program that fails gives all back. 98 % leave less than what one more buffer takes; programs that take nine tenths on purpose are below 94 %, where
-- it is worth to be known.
WITH fullest AS (
    SELECT run, host, gpu, instance, model, memory_used_bytes, memory_total_bytes
    FROM gpu WHERE memory_used_bytes IS NOT NULL AND memory_total_bytes > 0
    QUALIFY row_number() OVER (PARTITION BY run, host, gpu, instance ORDER BY memory_used_bytes / memory_total_bytes DESC, t DESC) = 1
), holders AS (
    SELECT run, host, gpu, instance, pid, max(comm) AS comm, max(memory_bytes) AS held_bytes FROM gpu_process WHERE memory_bytes IS NOT NULL
    GROUP BY run, host, gpu, instance, pid
    QUALIFY row_number() OVER (PARTITION BY run, host, gpu, instance ORDER BY max(memory_bytes) DESC, pid) = 1
)
SELECT f.run, f.host, 'GPU ' || f.gpu || coalesce('.' || f.instance, '') || coalesce(' (' || f.model || ')', '') AS name, 100 * memory_used_bytes / memory_total_bytes AS used,
    memory_total_bytes - memory_used_bytes AS left_bytes, memory_total_bytes AS total_bytes, h.comm, h.pid, h.held_bytes,
    CASE WHEN memory_used_bytes >= 0.98 * memory_total_bytes THEN 'warning' ELSE 'info' END AS severity
FROM fullest f
LEFT JOIN holders h ON h.run = f.run AND h.host = f.host AND h.gpu = f.gpu AND h.instance IS NOT DISTINCT FROM f.instance
WHERE memory_used_bytes >= 0.94 * memory_total_bytes
ORDER BY used DESC, f.run, f.host, f.gpu, f.instance
