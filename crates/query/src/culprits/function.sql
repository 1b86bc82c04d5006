-- title: On CPU
-- severity: info
-- section: process
-- message: {names}{n}
-- yes: stack comm=hot event=on-cpu stack="main;slow_parse" samples=84 *3
-- yes: stack comm=hot event=on-cpu stack="main;other" samples=16 *3
-- no: stack comm=hot event=off-cpu stack="main;poll" samples=90 *3
--
-- yes: stack comm=cat event=on-cpu stack="main;read;do_syscall_64_[k];__x64_sys_pread64_[k];vfs_read_[k];copy_page_to_iter_[k]" samples=30 *3
-- yes: stack comm=cat event=on-cpu stack="main;sum" samples=10 *3
-- no: stack comm=hot event=on-cpu stack="main;a" samples=4 *9
--
-- no: stack comm=hot event=on-cpu stack="main;[unknown]" samples=200
-- Where CPU time goes, in programs and in the kernel: the functions, or the system calls and the function in each, that have most of it.
-- What begins and ends processes and threads counts together: a fork is paid for in parts. Fifty samples at least, and ten and a thirtieth of what is named: fewer give no share. Frames that are only addresses are no names.
WITH parts AS (
    SELECT run, host, coalesce(side, '') AS side, any_value(n) AS n, any_value(event) AS event, sum(share) AS share
    FROM on_cpu
    GROUP BY run, host, coalesce(side, '')
), functions AS (
    SELECT run, host, coalesce(side, '') AS side, leaf, coalesce(comm, '') AS comm, sum(samples) AS samples, sum(share) AS share
    FROM on_cpu
    WHERE coalesce(side, '') <> 'kernel' AND leaf <> ''
        AND NOT regexp_matches(leaf, '^(0x[0-9a-f]+|\[unknown\]|\[program not read\]|\[program ended\]|\[no stack\]|\[other stacks\]|\?+)$')
    GROUP BY run, host, coalesce(side, ''), leaf, coalesce(comm, '')
), entered AS (
    SELECT run, host, leaf, samples, share,
        CASE WHEN entry IN ('fork', 'vfork', 'clone', 'clone3', 'execve', 'execveat', 'exit', 'exit_group') THEN 'fork/exec/exit' ELSE entry END AS entry
    FROM on_cpu
    WHERE side = 'kernel'
), entries AS (
    SELECT run, host, entry, leaf, sum(samples) AS samples, sum(share) AS share FROM entered GROUP BY run, host, entry, leaf
), calls AS (
    SELECT run, host, entry, sum(samples) AS samples, sum(share) AS share,
        CASE WHEN entry IS NULL OR (max(samples) >= 0.2 * sum(samples) AND max(samples) >= 10) THEN arg_max(leaf, samples) END AS leaf
    FROM entries
    GROUP BY run, host, entry
), named AS (
    SELECT run, host, side, samples, share,
        concat(leaf, CASE WHEN comm = '' OR leaf = concat('[', comm, ']') THEN '' ELSE concat(' of ', comm) END) AS name
    FROM functions
    UNION ALL
    SELECT run, host, 'kernel' AS side, samples, share, CASE WHEN leaf IS NULL THEN entry WHEN entry IS NULL THEN leaf ELSE concat(leaf, ' of ', entry) END AS name
    FROM calls
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host, side ORDER BY share DESC, name) AS place FROM named WHERE samples >= 10 AND share >= 0.03
), listed AS (
    SELECT run, host, side, string_agg(concat(name, ' ', CAST(CAST(round(100 * share) AS BIGINT) AS VARCHAR), '%'), ', ' ORDER BY place) AS names
    FROM placed
    WHERE place <= 3
    GROUP BY run, host, side
), worded AS (
    SELECT p.run, p.host, p.n, p.event, p.share, names, CASE WHEN p.side = '' THEN names ELSE concat(CASE WHEN p.side = 'kernel' THEN 'in the kernel' ELSE p.side END, ' ',
        CAST(CAST(round(100 * p.share) AS BIGINT) AS VARCHAR), '%', CASE WHEN names IS NULL THEN '' ELSE concat(' (', names, ')') END) END AS part
    FROM parts p LEFT JOIN listed l ON l.run = p.run AND l.host = p.host AND l.side = p.side
    WHERE p.n >= 50
)
SELECT run, host, string_agg(part, ', ' ORDER BY share DESC, part) AS names,
    concat('; ', CAST(CAST(round(any_value(n)) AS BIGINT) AS VARCHAR), ' samples', CASE WHEN any_value(event) = 'on-cpu' THEN '' ELSE concat(' of ', any_value(event)) END) AS n
FROM worded
GROUP BY run, host
HAVING count(names) > 0
ORDER BY run, host
