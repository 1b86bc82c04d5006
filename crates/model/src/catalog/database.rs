//! PostgreSQL, MySQL and MariaDB, as their own statistics show them.

table! {
    /// One database, or a whole server that has no statistics by database, over the interval.
    db [server, database] is (Database, Series, Lasting) {
        /// Server: its address without credentials.
        server: label(),
        /// Database; NULL for the whole server.
        database: label(),
        /// Transactions committed per second.
        commits_per_s: rate(PerS, Higher),
        /// Transactions rolled back per second.
        rollbacks_per_s: rate(PerS, Lower),
        /// Statements executed per second.
        statements_per_s: rate(PerS, Higher),
        /// Buffer pool hits: blocks or pages found in the server's own cache, per second.
        cache_hits_per_s: rate(PerS, Neither),
        /// Buffer pool misses: blocks or pages requested from the operating system, per second.
        cache_misses_per_s: rate(PerS, Lower),
        /// Rows returned by scans per second.
        rows_returned_per_s: rate(PerS, Neither),
        /// Rows fetched by index look-ups per second.
        rows_fetched_per_s: rate(PerS, Neither),
        /// Rows inserted per second.
        rows_inserted_per_s: rate(PerS, Neither),
        /// Rows updated per second.
        rows_updated_per_s: rate(PerS, Neither),
        /// Rows deleted per second.
        rows_deleted_per_s: rate(PerS, Neither),
        /// Bytes per second written to temporary files by sorts and hashes that exceed memory.
        temp_bytes_per_s: rate(BytesPerS, Lower),
        /// Deadlocks in the interval.
        deadlocks: count(Lower),
        /// Bytes per second of write-ahead or redo log.
        log_bytes_per_s: rate(BytesPerS, Neither),
        /// Open connections.
        sessions: gauge(Count, Neither),
        /// Connections that execute a statement.
        active_sessions: gauge(Count, Neither),
        /// Size on disk.
        size_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// One database table over the interval.
    db_table [server, database, relation] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Database on the server.
        database: label(),
        /// Schema and name of the table.
        relation: label(),
        /// Full scans per second. On a large table, look for a missing index.
        full_scans_per_s: rate(PerS, Lower),
        /// Rows read by full scans per second.
        full_scan_rows_per_s: rate(PerS, Lower),
        /// Index scans per second.
        index_scans_per_s: rate(PerS, Neither),
        /// Rows inserted per second.
        rows_inserted_per_s: rate(PerS, Neither),
        /// Rows updated per second.
        rows_updated_per_s: rate(PerS, Neither),
        /// HOT updates per second: updates without new index entries.
        rows_hot_updated_per_s: rate(PerS, Higher),
        /// Rows deleted per second.
        rows_deleted_per_s: rate(PerS, Neither),
        /// Rows in the table as the server estimates them.
        live_rows: gauge(Count, Neither),
        /// Dead rows not yet vacuumed.
        dead_rows: gauge(Count, Lower),
        /// Buffer pool hits: blocks found in the server's cache, per second.
        cache_hits_per_s: rate(PerS, Neither),
        /// Buffer pool misses: blocks requested from the operating system, per second.
        cache_misses_per_s: rate(PerS, Lower),
        /// Size on disk.
        size_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// One index over the interval.
    db_index [server, database, relation, index_name] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Database on the server.
        database: label(),
        /// Table it belongs to.
        relation: label(),
        /// Name of the index.
        index_name: label(),
        /// Scans per second; an index that is never scanned is pure overhead.
        scans_per_s: rate(PerS, Neither),
        /// Entries read per second.
        entries_read_per_s: rate(PerS, Neither),
        /// Rows fetched through it per second.
        rows_fetched_per_s: rate(PerS, Neither),
        /// Buffer pool hits: blocks found in the server's cache, per second.
        cache_hits_per_s: rate(PerS, Neither),
        /// Buffer pool misses: blocks requested from the operating system, per second.
        cache_misses_per_s: rate(PerS, Lower),
        /// Size on disk.
        size_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// One normalised statement over the interval.
    db_statement [server, database, digest] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Database on the server.
        database: label(),
        /// Identifier of the normalised statement.
        digest: label(),
        /// The normalised statement.
        statement: label(),
        /// User who ran it.
        user: label(),
        /// Executions per second.
        calls_per_s: rate(PerS, Neither),
        /// Mean execution time.
        mean_ms: gauge(Milliseconds, Lower),
        /// Maximum execution time.
        max_ms: gauge(Milliseconds, Lower).maximum(),
        /// Execution time per second: the mean number of concurrent executions.
        time: rate(CpuSecondsPerS, Lower),
        /// Rows returned or changed per second.
        rows_per_s: rate(PerS, Neither),
        /// Rows examined per second.
        rows_examined_per_s: rate(PerS, Lower),
        /// Buffer pool hits: blocks found in the server's cache, per second.
        cache_hits_per_s: rate(PerS, Neither),
        /// Buffer pool misses: blocks requested from the operating system, per second.
        cache_misses_per_s: rate(PerS, Lower),
        /// Bytes per second written to temporary files.
        temp_bytes_per_s: rate(BytesPerS, Lower),
        /// Errors in the interval.
        errors: count(Lower),
    }
}

table! {
    /// One session, sampled at one point in time.
    db_session [server, session] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Session ID on the server.
        session: id().of_one_run(),
        /// Database on the server.
        database: label(),
        /// User of the session.
        user: label(),
        /// Application name given by the client.
        application: label(),
        /// State: active, idle, idle in transaction and so on.
        state: label(),
        /// Class of the wait event; NULL while it runs.
        wait_class: label(),
        /// Wait event.
        wait_event: label(),
        /// Session that blocks it.
        blocked_by: id().of_one_run(),
        /// Age of the current transaction.
        transaction_age_s: gauge(Seconds, Lower),
        /// Age of the current statement.
        statement_age_s: gauge(Seconds, Lower),
        /// Identifier of the statement.
        digest: label(),
    }
}

table! {
    /// One wait event over the interval.
    db_wait [server, wait_class, wait_event] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Class of the event.
        wait_class: label(),
        /// Wait event.
        wait_event: label(),
        /// Waits per second.
        waits_per_s: rate(PerS, Lower),
        /// Wait time per second: the mean number of sessions in this wait.
        time: rate(CpuSecondsPerS, Lower),
        /// Mean wait time.
        mean_ms: gauge(Milliseconds, Lower),
    }
}

table! {
    /// One setting of a database server.
    db_setting [server, name] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Name of the setting.
        name: label(),
        /// Its value as the server prints it.
        value: text(),
        /// Unit of the value.
        unit: label(),
        /// Origin of the value: default, file, command line and so on.
        origin: label(),
    }
}
