-- title: How far is the database server?
-- about: The round trip of a message to the server and its answer, which executes nothing, once an interval. Over loopback it is a tenth of a millisecond. A transaction waits so long for each of its statements; peaks on a busy machine are the time until both ends had a CPU.
-- section: database
-- chart: line
-- x: t
-- y: round_trip_ms
-- series: server
-- unit: ms
-- order: 61
SELECT run, host, t, dt, server, round_trip_ms
FROM db
WHERE database IS NULL AND round_trip_ms IS NOT NULL
ORDER BY run, host, server, t
