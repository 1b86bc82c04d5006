-- title: Where did the code spend its time?
-- about: Sampled stacks as a flame graph: the wider a frame, the more samples in it and its callees. Click a frame to zoom, search to highlight.
-- section: process
-- chart: flame
-- x: stack
-- y: samples
-- series: below
-- order: 63
-- param: n = 5000, how many stacks to show, those with most samples first
SELECT run, host, concat_ws(';', event, comm) AS below, stack, sum(samples) AS samples
FROM stack
WHERE samples > 0
GROUP BY run, host, below, stack
ORDER BY samples DESC, below, stack
LIMIT $n
