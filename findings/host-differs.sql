-- title: A host differs from its peers
-- severity: warning
-- section: result
-- message: {resource} of this host: {mean:%} where the {others} other hosts with the role {role} had {typical:%}, all the time.
-- advice: Hosts of one role get the same work and should be as full as each other. More on one of them: an uneven share of the work (a balancer, a hot shard), something else that runs there, slower hardware or other settings. See what the facts say (fenxi ask hosts-facts), and what runs there (fenxi ask top-processes).
-- ask: hosts-compared
-- yes: text host=a topic=host name=role phase=start value=server
-- yes: text host=b topic=host name=role phase=start value=server
-- yes: text host=c topic=host name=role phase=start value=server
-- yes: cpu host=a idle=80 *60
-- yes: cpu host=b idle=76 *60
-- yes: cpu host=c idle=35 *60
-- no: text host=a topic=host name=role phase=start value=server
-- no: text host=b topic=host name=role phase=start value=server
-- no: cpu host=a idle=80 *60
-- no: cpu host=b idle=35 *60
--
-- no: cpu host=a idle=80 *60
-- no: cpu host=b idle=76 *60
-- no: cpu host=c idle=35 *60
--
-- no: text host=a topic=host name=role phase=start value=server
-- no: text host=b topic=host name=role phase=start value=server
-- no: text host=c topic=host name=role phase=start value=server
-- no: cpu host=a idle=80 *60
-- no: cpu host=b idle=76 *60
-- no: cpu host=c idle=79 *30
-- no: cpu host=c idle=5 *20 @30
-- no: cpu host=c idle=79 *10 @50
--
-- no: text host=a topic=host name=role phase=start value=server
-- no: text host=b topic=host name=role phase=start value=server
-- no: text host=c topic=host name=role phase=start value=server
-- no: cpu host=a idle=90 *60
-- no: cpu host=b idle=60 *60
-- no: cpu host=c idle=35 *60
-- At least three hosts that were declared to have one role. The difference is large (15 points; waits 10, errors 1), five robust standard
-- deviations of the peers, and there in nine of ten parts of the run: a job that ran on one host for a while is no difference of hosts.
WITH seen AS (
    SELECT u.run, u.host, g.role, u.resource, u.kind, u.value, u.dt,
        (epoch_us(u.t) - min(epoch_us(u.t)) OVER (PARTITION BY u.run)) / nullif(max(epoch_us(u.t)) OVER (PARTITION BY u.run) - min(epoch_us(u.t)) OVER (PARTITION BY u.run), 0) AS place
    FROM resource_use u JOIN host_role g ON g.run = u.run AND g.host = u.host
    WHERE u.value IS NOT NULL AND u.resource NOT LIKE 'db %'
), parts AS (
    SELECT run, host, role, resource, kind, floor(9.999 * place) AS part, sum(value * dt) / nullif(sum(dt), 0) AS value, sum(dt) AS dt
    FROM seen
    GROUP BY run, host, role, resource, kind, part
), beside AS (
    SELECT *, value - median(value) OVER (PARTITION BY run, role, resource, part) AS apart FROM parts
), means AS (
    SELECT run, host, role, resource, kind, sum(value * dt) / nullif(sum(dt), 0) AS mean, sum(dt) AS seen_s, count(*) AS parts,
        CASE kind WHEN 'utilisation' THEN 15 WHEN 'saturation' THEN 10 ELSE 1 END AS threshold,
        count(*) FILTER (apart >= 0.5 * CASE kind WHEN 'utilisation' THEN 15 WHEN 'saturation' THEN 10 ELSE 1 END) AS above,
        count(*) FILTER (-apart >= 0.5 * CASE kind WHEN 'utilisation' THEN 15 WHEN 'saturation' THEN 10 ELSE 1 END) AS below
    FROM beside
    GROUP BY run, host, role, resource, kind
), peers AS (
    SELECT *, median(mean) OVER (PARTITION BY run, role, resource) AS typical, count(*) OVER (PARTITION BY run, role, resource) AS hosts FROM means
), spread AS (
    SELECT *, median(abs(mean - typical)) OVER (PARTITION BY run, role, resource) / 0.6745 AS deviation FROM peers
), found AS (
    SELECT *, row_number() OVER (PARTITION BY run, host ORDER BY abs(mean - typical) / threshold DESC, resource) AS rank
    FROM spread
    WHERE hosts >= 3 AND parts >= 5 AND seen_s >= 10 AND abs(mean - typical) >= threshold AND abs(mean - typical) >= 5 * deviation
        AND greatest(above, below) >= 0.9 * parts
)
SELECT run, host, resource, mean, typical, role, hosts - 1 AS others, kind, seen_s
FROM found
WHERE rank <= 3
ORDER BY abs(mean - typical) / threshold DESC, run, host, resource
