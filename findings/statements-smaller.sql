-- title: Statements fetch fewer rows each
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, and each reads and returns fewer rows than before: rows that one statement fetched are fetched one by one, or other statements are executed.
-- advice: Look for a loop that executes a statement for each row (N+1): join, or fetch many rows with one statement. Each statement pays a round trip. Compare the most frequent statements with those before.
-- ask: db-statements-by
-- yes: db statements_per_s=26000 rows_returned_per_s=1000000 sent_bytes_per_s=24000000 *30
-- yes: inside db statements_per_s=38000 rows_returned_per_s=74000 sent_bytes_per_s=4000000 *30 @30
-- no: db statements_per_s=26000 rows_returned_per_s=1000000 sent_bytes_per_s=24000000 *30
-- no: inside db statements_per_s=38000 rows_returned_per_s=1400000 sent_bytes_per_s=36000000 *30 @30
--
-- no: db statements_per_s=26000 rows_returned_per_s=1000000 sent_bytes_per_s=24000000 *30
-- no: inside db statements_per_s=2600 rows_returned_per_s=10000 sent_bytes_per_s=240000 *30 @30
--
-- yes: db commits_per_s=1000 statements_per_s=3000 rows_returned_per_s=40000 sent_bytes_per_s=900000 *30
-- yes: inside db commits_per_s=500 statements_per_s=15000 rows_returned_per_s=20000 sent_bytes_per_s=500000 *30 @30
-- no: db commits_per_s=1000 statements_per_s=3000 rows_returned_per_s=40000 sent_bytes_per_s=900000 *30
-- no: inside db commits_per_s=5000 statements_per_s=15000 rows_returned_per_s=200000 sent_bytes_per_s=4500000 *30 @30
--
-- no: db commits_per_s=1000 statements_per_s=3000 rows_returned_per_s=40000 sent_bytes_per_s=900000 *30
-- no: inside db commits_per_s=100 statements_per_s=3000 rows_returned_per_s=4000 sent_bytes_per_s=90000 *30 @30
-- Twice as many statements for a transaction that reads as much; or, where transactions are not counted, a quarter of the rows and half of the
-- bytes for a statement, while there are more of them. What asks all the time and not for transactions does not become more.
SELECT m.run, m.host, c.summary, CASE WHEN latency <= 0.1 THEN 'info' ELSE 'warning' END AS severity, least(4, greatest(statements_cost, -sent_cost)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN statements >= 0.2 AND statements_cost >= 1 AND abs(coalesce(reads_cost, 0)) < 0.7 THEN 'statements' ELSE 'throughput' END
WHERE c.means = 'statements'
    OR work >= 0.2 AND sent_cost <= -1 AND EXISTS (SELECT 1 FROM change x WHERE x.run = m.run AND x.means = 'reads' AND x.cost <= -2 AND x.change <= -0.5)
        AND regexp_matches(lower(c.column_name || ' ' || c.key), 'statements|questions|queries|select|requests')
ORDER BY weight DESC
