//! Work of a database server beside executing statements: locks, I/O, write-ahead log, checkpoints, replication.

table! {
    /// One session that waits for another, at one point in time: an edge of the waits-for graph.
    db_lock [server, waiter, blocker] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Session that waits.
        waiter: id().of_one_run(),
        /// Session that it waits for; 0 for a prepared transaction.
        blocker: id().of_one_run(),
        /// Session at the root of the chain: it blocks others and is not blocked itself.
        root: id().of_one_run(),
        /// Steps from the waiter to the root.
        depth: gauge(Count, Lower),
        /// Sessions that wait for the waiter, directly or not.
        behind: gauge(Count, Lower),
        /// What is locked: `transactionid`, `tuple`, `relation`, `record`, `metadata` and so on.
        lock: label(),
        /// Lock mode requested.
        mode: label(),
        /// Lock mode that the blocker holds or requests.
        blocker_mode: label(),
        /// `yes` when the blocker holds the lock, `no` when it is only ahead in the queue.
        direct: label(),
        /// Database on the server.
        database: label(),
        /// Table that the lock belongs to.
        relation: label(),
        /// Index that the lock belongs to.
        index_name: label(),
        /// How long it has waited.
        waited_s: gauge(Seconds, Lower),
        /// Application of the waiter.
        application: label(),
        /// Statement of the waiter.
        digest: label(),
        /// State of the blocker: active, idle in transaction and so on.
        blocker_state: label(),
        /// How long the blocker has been in its state.
        blocker_state_age_s: gauge(Seconds, Lower),
        /// Age of the blocker's transaction.
        blocker_transaction_age_s: gauge(Seconds, Lower),
        /// Application of the blocker.
        blocker_application: label(),
        /// Last statement of the blocker.
        blocker_digest: label(),
    }
}

table! {
    /// I/O of a database server by who does it, to what and why, over the interval. It is requested from the kernel: the page cache may answer.
    db_io [server, kind, object, context] is (Database, Series, Lasting) {
        /// Server: its address without credentials.
        server: label(),
        /// Who does it: `client backend`, `checkpointer`, `background writer` and so on.
        kind: label(),
        /// To what: `relation`, `temp relation`, `wal`, a cache of the server (SLRU), a class of files.
        object: label(),
        /// Why: `normal`, `vacuum`, `bulkread`, `bulkwrite`, `init`.
        context: label(),
        /// Reads per second.
        reads_per_s: rate(PerS, Neither),
        /// Bytes read per second.
        read_bytes_per_s: rate(BytesPerS, Neither),
        /// Time in reads per second; NULL where the server does not time its I/O.
        read_time: rate(SecondsPerS, Lower),
        /// Writes per second.
        writes_per_s: rate(PerS, Neither),
        /// Bytes written per second.
        write_bytes_per_s: rate(BytesPerS, Neither),
        /// Time in writes per second; NULL where the server does not time its I/O.
        write_time: rate(SecondsPerS, Lower),
        /// Requests per second to the kernel to begin writing back.
        writebacks_per_s: rate(PerS, Neither),
        /// Extensions of files per second.
        extends_per_s: rate(PerS, Neither),
        /// Bytes per second by which files were extended.
        extend_bytes_per_s: rate(BytesPerS, Neither),
        /// Time in extensions per second.
        extend_time: rate(SecondsPerS, Lower),
        /// Buffer hits per second.
        hits_per_s: rate(PerS, Neither),
        /// Buffers evicted per second to make room.
        evictions_per_s: rate(PerS, Neither),
        /// Buffers reused per second within a ring of a bulk operation.
        reuses_per_s: rate(PerS, Neither),
        /// Flushes to stable storage (fsync) per second.
        fsyncs_per_s: rate(PerS, Neither),
        /// Time in flushes per second.
        fsync_time: rate(SecondsPerS, Lower),
    }
}

table! {
    /// Write-ahead or redo log of a database server over the interval.
    db_wal [server] is (Database, Series, Lasting) {
        /// Server: its address without credentials.
        server: label(),
        /// Records per second.
        records_per_s: rate(PerS, Neither),
        /// Full-page images per second: whole pages logged at their first change after a checkpoint.
        full_pages_per_s: rate(PerS, Neither),
        /// Bytes generated per second.
        wal_bytes_per_s: rate(BytesPerS, Neither),
        /// Times per second that the log buffers were full and a session had to wait or write.
        buffers_full_per_s: rate(PerS, Lower),
        /// Writes per second.
        writes_per_s: rate(PerS, Neither),
        /// Flushes to stable storage per second.
        syncs_per_s: rate(PerS, Neither),
        /// Time in writes per second; NULL where the server does not time them.
        write_time: rate(SecondsPerS, Lower),
        /// Time in flushes per second; NULL where the server does not time them.
        sync_time: rate(SecondsPerS, Lower),
        /// Commits per flush of the binary log (group commit).
        commits_per_sync: gauge(Count, Higher),
        /// Log files archived in the interval.
        archived: count(Neither),
        /// Failed attempts to archive a log file, in the interval.
        archive_failures: count(Lower),
    }
}

table! {
    /// Checkpoints and writers of a database server over the interval.
    db_checkpoint [server] is (Database, Series, Lasting) {
        /// Server: its address without credentials.
        server: label(),
        /// Checkpoints begun by the timer, in the interval.
        timed: count(Neither),
        /// Checkpoints begun because the log was full or somebody asked, in the interval.
        requested: count(Lower),
        /// Time writing buffers per second.
        write_time: rate(SecondsPerS, Neither),
        /// Time flushing files per second.
        sync_time: rate(SecondsPerS, Lower),
        /// Buffers written by checkpoints per second.
        checkpoint_buffers_per_s: rate(PerS, Neither),
        /// Buffers written by the background writer or page cleaner per second.
        cleaner_buffers_per_s: rate(PerS, Neither),
        /// Buffers written by sessions themselves per second; up to PostgreSQL 16 with extensions of files.
        backend_buffers_per_s: rate(PerS, Lower),
        /// Times in the interval that the background writer stopped because it had written its limit.
        cleaner_stops: count(Lower),
        /// Flushes that sessions had to do themselves, in the interval.
        backend_fsyncs: count(Lower),
        /// Buffers allocated per second.
        allocated_per_s: rate(PerS, Neither),
        /// Seconds since the last checkpoint.
        age_s: gauge(Seconds, Neither),
        /// Log since the last checkpoint: what crash recovery would have to read.
        redo_bytes: gauge(Bytes, Neither),
        /// Size of `redo_bytes` at which the server forces a checkpoint.
        redo_limit_bytes: gauge(Bytes, Neither),
        /// Dirty pages in the buffer pool.
        dirty_bytes: gauge(Bytes, Neither),
        /// Waits in the interval for a free page of the buffer pool.
        free_waits: count(Lower),
    }
}

table! {
    /// One replica, slot or subscription of a database server, at one point in time.
    db_replication [server, name, role] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Name of the replica, slot or channel.
        name: label(),
        /// `sends` to a replica, `receives` from a primary, `slot`.
        role: label(),
        /// State as the server reports it.
        state: label(),
        /// Whether commits wait for it: `async`, `sync`, `quorum`.
        sync: label(),
        /// Log generated and not yet sent.
        sent_lag_bytes: gauge(Bytes, Lower),
        /// Log sent and not yet flushed there.
        flush_lag_bytes: gauge(Bytes, Lower),
        /// Log not yet applied there.
        replay_lag_bytes: gauge(Bytes, Lower),
        /// Time between a flush here and the flush there.
        flush_lag_s: gauge(Seconds, Lower),
        /// Time between a commit here and its being visible there.
        replay_lag_s: gauge(Seconds, Lower),
        /// Log kept for it.
        retained_bytes: gauge(Bytes, Lower),
        /// Age in transactions of the snapshot or the catalogue rows that are kept for it.
        xmin_age: gauge(Count, Lower),
        /// Whether it is connected: `yes` or `no`.
        active: label(),
        /// Whether the log it needs is still there, as the server reports it.
        wal_status: label(),
    }
}

table! {
    /// One long operation of a database server (vacuum, index build, COPY), at one point in time.
    db_progress [server, session, command] is (Database, Series, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Session ID on the server.
        session: id().of_one_run(),
        /// What is done: `VACUUM`, `CREATE INDEX`, `COPY FROM` and so on.
        command: label(),
        /// Phase as the server reports it.
        phase: label(),
        /// Database on the server.
        database: label(),
        /// Table that it works on.
        relation: label(),
        /// Units done in this phase.
        done: gauge(Count, Neither),
        /// Units to do in this phase.
        total: gauge(Count, Neither),
    }
}

table! {
    /// One pool of a connection pooler (pgbouncer) over the interval, and one row of each of its databases without a user.
    db_pool [server, database, user] is (Database, Series, Lasting) {
        /// Server: address of the pooler without credentials.
        server: label(),
        /// Database as clients name it.
        database: label(),
        /// User of the pool; NULL for what the pooler counts by database only.
        user: label(),
        /// When a connection to the server goes back to the pool: `session`, `transaction` or `statement`.
        mode: label(),
        /// Clients that have a connection to the server, or could have one at once.
        clients_active: gauge(Count, Neither),
        /// Clients that wait for a connection to the server.
        clients_waiting: gauge(Count, Lower),
        /// Connections to the server that clients use.
        servers_active: gauge(Count, Neither),
        /// Connections to the server that wait for clients.
        servers_idle: gauge(Count, Neither),
        /// Limit to the connections of each pool of the database.
        size_limit: gauge(Count, Neither),
        /// How long the first client in the queue has waited.
        first_wait_s: gauge(Seconds, Lower),
        /// Transactions per second.
        transactions_per_s: rate(PerS, Higher),
        /// Statements per second.
        statements_per_s: rate(PerS, Higher),
        /// Time of transactions per second: the mean number of connections to the server that are in one.
        transaction_time: rate(SecondsPerS, Neither),
        /// Time of statements per second: the mean number of connections to the server that execute one.
        statement_time: rate(SecondsPerS, Neither),
        /// Time that clients waited for a connection to the server, per second: the mean number of clients that wait.
        wait_time: rate(SecondsPerS, Lower),
        /// Bytes per second received from clients.
        received_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second sent to clients.
        sent_bytes_per_s: rate(BytesPerS, Neither),
    }
}

table! {
    /// One plan of a statement on a database server, at the moment at which it was first seen or seen to have replaced another.
    db_plan [server, database, digest, plan, source] is (Database, Events, Passing) {
        /// Server: its address without credentials.
        server: label(),
        /// Database on the server.
        database: label(),
        /// Identifier of the normalised statement, as in `db_statement`.
        digest: label(),
        /// Identifier of the plan's shape, whatever its costs and estimates are.
        plan: label(),
        /// Whose plan it is: `generic` for any values (PostgreSQL), `example` for the values of an execution, `executed` as the server logged it.
        source: label(),
        /// The normalised statement.
        statement: label(),
        /// Nodes, relations, indexes and join order, a line for each node; partitions of one table are one.
        shape: text(),
        /// The plan with costs, estimated rows and conditions without values.
        tree: text(),
        /// Identifier of the plan that it replaced; NULL for the first one seen.
        replaced: label(),
        /// What changed, in words; NULL for the first one seen.
        change: text(),
        /// Cost that the server estimates, in its own units.
        cost: gauge(Count, Neither),
        /// Rows that the server estimates.
        estimated_rows: gauge(Count, Neither),
        /// By how much the worst estimate was off; NULL where the plan was not measured.
        worst_estimate: gauge(Count, Neither),
        /// Time of the execution that was logged.
        elapsed_ms: gauge(Milliseconds, Lower),
    }
}
