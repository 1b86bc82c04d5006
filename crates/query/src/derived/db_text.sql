-- The text of each statement that is known by its digest, from wherever it is known: the server's statistics, sessions that
-- were seen in it, and queries observed from outside. In normal form it is the same from all of them.
SELECT run, host, digest, min(statement) AS statement
FROM (
    SELECT run, host, digest, statement FROM db_statement
    UNION ALL
    SELECT run, host, digest, statement FROM db_session
    UNION ALL
    SELECT run, host, digest, statement FROM query
)
WHERE digest IS NOT NULL AND statement IS NOT NULL
GROUP BY run, host, digest
