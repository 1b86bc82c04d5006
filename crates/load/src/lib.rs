//! Load on PostgreSQL and MySQL/MariaDB: workloads, wire protocols, schedules of arrival, latencies.
