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
        /// DB time as the server counts it: time in statements per second, the mean number of active sessions.
        db_time: rate(SecondsPerS, Neither),
        /// Time that sessions were idle in a transaction, per second.
        idle_in_transaction_time: rate(SecondsPerS, Lower),
        /// Time that sessions were open, per second.
        session_time: rate(SecondsPerS, Neither),
        /// Time spent reading data blocks, per second; NULL where the server does not time its I/O.
        block_read_time: rate(SecondsPerS, Lower),
        /// Time spent writing data blocks, per second; NULL where the server does not time its I/O.
        block_write_time: rate(SecondsPerS, Lower),
        /// Temporary files created in the interval.
        temp_files: count(Lower),
        /// Internal temporary tables created per second.
        temp_tables_per_s: rate(PerS, Lower),
        /// Internal temporary tables created on disk per second.
        temp_disk_tables_per_s: rate(PerS, Lower),
        /// Statements cancelled because they conflict with recovery on a standby, in the interval.
        conflicts: count(Lower),
        /// Row lock waits per second (InnoDB).
        row_lock_waits_per_s: rate(PerS, Lower),
        /// Time in row lock waits per second (InnoDB), counted when a wait ends.
        row_lock_time: rate(SecondsPerS, Lower),
        /// Connections established per second.
        connects_per_s: rate(PerS, Neither),
        /// Sessions in the interval whose client vanished.
        sessions_abandoned: count(Lower),
        /// Sessions ended by a fatal error, or connections refused, in the interval.
        sessions_fatal: count(Lower),
        /// Sessions terminated by an administrator in the interval.
        sessions_killed: count(Lower),
        /// Sessions idle in a transaction.
        idle_in_transaction_sessions: gauge(Count, Lower),
        /// Sessions that wait for a lock.
        waiting_sessions: gauge(Count, Lower),
        /// Samples of the sessions taken in the interval: an idle server has samples, an outage has none.
        samples: count(Neither),
        /// Mean number of active client sessions over those samples.
        active_sampled: gauge(Count, Neither),
        /// Round trip to the server: a message to it and its answer, on the recorder's own connection, which takes the same way as
        /// a client with the same address. With the time until each end had a CPU.
        round_trip_ms: gauge(Milliseconds, Lower),
        /// Age of the oldest open transaction.
        oldest_transaction_s: gauge(Seconds, Lower),
        /// Age of the oldest running statement.
        oldest_statement_s: gauge(Seconds, Lower),
        /// Age in transactions of the oldest snapshot (xmin): newer dead rows cannot be removed.
        oldest_xmin_transactions: gauge(Count, Lower),
        /// Age in transactions of the oldest unfrozen row; wraparound protection stops writes near 2.1 billion.
        xid_age: gauge(Count, Lower),
        /// As `xid_age`, of multixacts.
        mxid_age: gauge(Count, Lower),
        /// Length of InnoDB's history list: undo records not yet purged.
        history_length: gauge(Count, Lower),
        /// Data pages with a wrong checksum, in the interval.
        checksum_failures: count(Lower),
        /// Statements evicted from the server's statement statistics in the interval: their calls are lost.
        statements_lost: count(Lower),
        /// Merge passes of sorts that exceed their memory, per second.
        sort_merge_passes_per_s: rate(PerS, Lower),
        /// Joins without an index per second.
        full_joins_per_s: rate(PerS, Lower),
        /// Full scans of the first table of a statement, per second.
        full_scans_per_s: rate(PerS, Lower),
        /// Statements above the server's own threshold for slow ones, per second.
        slow_statements_per_s: rate(PerS, Lower),
        /// Tables opened that were not in the table cache, per second.
        table_cache_misses_per_s: rate(PerS, Lower),
        /// Threads created for connections per second.
        threads_created_per_s: rate(PerS, Lower),
        /// Bytes per second received from clients.
        received_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second sent to clients.
        sent_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second of the binary log.
        binlog_bytes_per_s: rate(BytesPerS, Neither),
        /// Sorts per second.
        sorts_per_s: rate(PerS, Neither),
        /// Tables opened that were in the table cache, per second.
        table_cache_hits_per_s: rate(PerS, Neither),
        /// Tables closed per second because the table cache was full.
        table_cache_overflows_per_s: rate(PerS, Lower),
        /// Parallel workers per second that plans asked for.
        parallel_workers_planned_per_s: rate(PerS, Neither),
        /// Parallel workers per second that could be started.
        parallel_workers_launched_per_s: rate(PerS, Neither),
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
        /// Updates per second that put the new row version on another page.
        rows_newpage_updated_per_s: rate(PerS, Lower),
        /// Blocks of its indexes found in the server's cache, per second.
        index_hits_per_s: rate(PerS, Neither),
        /// Blocks of its indexes requested from the operating system, per second.
        index_misses_per_s: rate(PerS, Lower),
        /// Blocks of its out-of-line storage (TOAST) found in the server's cache, per second.
        toast_hits_per_s: rate(PerS, Neither),
        /// Blocks of its out-of-line storage (TOAST) requested from the operating system, per second.
        toast_misses_per_s: rate(PerS, Lower),
        /// Time that the engine spent reading its rows, per second; includes waits and CPU, it is not disk time.
        read_time: rate(SecondsPerS, Lower),
        /// Time that the engine spent changing its rows, per second; as `read_time`.
        write_time: rate(SecondsPerS, Lower),
        /// Rows changed since the last ANALYZE.
        modified_since_analyze: gauge(Count, Lower),
        /// Vacuums in the interval, automatic ones included.
        vacuums: count(Neither),
        /// Analyzes in the interval, automatic ones included.
        analyzes: count(Neither),
        /// Seconds since the last vacuum.
        vacuum_age_s: gauge(Seconds, Lower),
        /// Seconds since the last ANALYZE.
        analyze_age_s: gauge(Seconds, Lower),
        /// Age in transactions of its oldest unfrozen row.
        xid_age: gauge(Count, Lower),
        /// Data file, relative to the data directory.
        file: label(),
        /// Bytes per second read from its files by the server.
        io_read_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second written to its files by the server.
        io_write_bytes_per_s: rate(BytesPerS, Neither),
        /// Estimate of what it occupies beyond its rows as packed as they can be: free space and dead rows, without indexes.
        free_bytes: gauge(Bytes, Lower),
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
        /// Whether it enforces uniqueness: `yes` or `no`.
        is_unique: label(),
        /// Whether it can be used by queries: `yes` or `no`.
        is_valid: label(),
        /// Data file, relative to the data directory.
        file: label(),
    }
}

table! {
    /// One normalised statement over the interval.
    db_statement [server, database, digest, user, nested] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Database on the server.
        database: label(),
        /// Identifier of the normalised statement.
        digest: label(),
        /// User who ran it.
        user: label(),
        /// `yes` for statements that functions ran; NULL where the server does not distinguish them.
        nested: label(),
        /// The normalised statement.
        statement: label(),
        /// Executions per second.
        calls_per_s: rate(PerS, Neither),
        /// Mean execution time.
        mean_ms: gauge(Milliseconds, Lower),
        /// Maximum execution time.
        max_ms: gauge(Milliseconds, Lower).maximum(),
        /// Execution time per second: the mean number of concurrent executions.
        time: rate(SecondsPerS, Lower),
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
        /// The server's own identifier; it differs between versions and servers.
        query_id: label(),
        /// Time spent planning per second.
        plan_time: rate(SecondsPerS, Lower),
        /// How often it was planned per second; NULL where the server does not count it. A generic plan is made once a session.
        plans_per_s: rate(PerS, Neither),
        /// Standard deviation of the execution time.
        sd_ms: gauge(Milliseconds, Lower),
        /// Blocks made dirty per second.
        dirtied_blocks_per_s: rate(PerS, Neither),
        /// Blocks that the statement itself had to write, per second.
        written_blocks_per_s: rate(PerS, Lower),
        /// Time reading data blocks per second; NULL where the server does not time its I/O.
        read_time: rate(SecondsPerS, Lower),
        /// Time writing data blocks per second; NULL where the server does not time its I/O.
        write_time: rate(SecondsPerS, Lower),
        /// Bytes per second read from temporary files.
        temp_read_bytes_per_s: rate(BytesPerS, Lower),
        /// Write-ahead log generated per second.
        wal_bytes_per_s: rate(BytesPerS, Neither),
        /// Time of just-in-time compilation per second.
        jit_time: rate(SecondsPerS, Lower),
        /// CPU time as the server counts it (pg_stat_kcache, performance_schema).
        cpu: rate(CpuSecondsPerS, Lower),
        /// Time in table and row locks per second, as the server counts it.
        lock_time: rate(SecondsPerS, Lower),
        /// Executions per second that read a table in full.
        full_scans_per_s: rate(PerS, Lower),
        /// Executions per second without any index.
        no_index_per_s: rate(PerS, Lower),
        /// Internal temporary tables per second.
        temp_tables_per_s: rate(PerS, Lower),
        /// Internal temporary tables on disk per second.
        temp_disk_tables_per_s: rate(PerS, Lower),
        /// Merge passes of sorts that exceed their memory, per second.
        sort_merge_passes_per_s: rate(PerS, Lower),
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
        /// Text of the statement in normal form; values are `?`.
        statement: label(),
        /// Process that serves it on the server's host.
        pid: id().of_one_run(),
        /// Thread that serves it on the server's host.
        tid: id().of_one_run(),
        /// What the session is: `client backend`, `parallel worker`, `autovacuum worker`, `walsender` and so on.
        kind: label(),
        /// Class of its activity, the same words for every server: `cpu`, `user io`, `lock`, `commit`, `client` and so on.
        activity: label(),
        /// Session ID of the leader of a parallel query.
        leader: id().of_one_run(),
        /// Address of the client, without its port.
        client: label(),
        /// The server's own identifier of the statement.
        query_id: label(),
        /// Age of the current state.
        state_age_s: gauge(Seconds, Neither),
        /// Age of the session: numbers of sessions are used again.
        session_age_s: gauge(Seconds, Neither),
        /// Age in transactions of its snapshot (xmin).
        xmin_age: gauge(Count, Lower),
        /// Rows locked by its transaction (InnoDB).
        rows_locked: gauge(Count, Lower),
        /// Rows changed by its transaction (InnoDB).
        rows_changed: gauge(Count, Neither),
        /// Memory that the session has allocated, as the server reports it.
        memory_bytes: gauge(Bytes, Lower),
    }
}

table! {
    /// One wait event over the interval.
    db_wait [server, wait_class, wait_event, kind, measured] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Class of the event.
        wait_class: label(),
        /// Wait event.
        wait_event: label(),
        /// Whose time it is: `client` for sessions of clients and their parallel workers, `background` for the server's own.
        kind: label(),
        /// How it was measured: `sampled` (sessions seen in it per sample), `server` (the server's own sums), `exact` (every context switch), `os`; NULL for imports. Rows measured differently are never added.
        measured: label(),
        /// Waits per second.
        waits_per_s: rate(PerS, Lower),
        /// Wait time per second: the mean number of sessions in this wait.
        time: rate(SecondsPerS, Lower),
        /// Mean wait time.
        mean_ms: gauge(Milliseconds, Lower),
        /// Class of the activity, the same words for every server: `cpu`, `user io`, `lock`, `commit`, `client` and so on.
        activity: label(),
        /// Sessions seen in it, over all samples of the interval.
        samples: count(Neither),
    }
}

table! {
    /// What a statement waited for: time off a CPU by wait event, on a CPU and in the run queue, measured at context switches (`trace dbwait`).
    db_statement_wait [server, query_id, wait_class, wait_event] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// The server's number of the statement, as in `db_statement` and `db_session`.
        query_id: label(),
        /// Class of the event.
        wait_class: label(),
        /// Wait event.
        wait_event: label(),
        /// Class of the activity, as in `db_wait`.
        activity: label(),
        /// Waits per second that ended.
        waits_per_s: rate(PerS, Lower),
        /// Time per second: the mean number of sessions in it.
        time: rate(SecondsPerS, Lower),
        /// Mean length of the waits that ended.
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
        /// Origin of the value: default, file, command line and so on; `server` for what the server is (version, role).
        origin: label(),
        /// The value that it has unless somebody sets it.
        built_in: text(),
        /// `yes` when a changed value waits for a restart.
        pending_restart: label(),
    }
}
