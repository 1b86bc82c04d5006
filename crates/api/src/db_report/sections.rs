//! The sections of a database's report, in the order in which they are read: what the server is, what it did in all, what it
//! waited for, then what caused it. Each is a question, which can be asked alone.

/// A column that is compared.
#[derive(Debug)]
pub struct Measure {
    /// Its name in the question's answer.
    pub column: &'static str,
    /// The text above it.
    pub heading: &'static str,
}

/// A section.
#[derive(Debug)]
pub struct Spec {
    /// Its name in JSON and in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The question.
    pub question: &'static str,
    /// Parameters of the question; `n` is given where it has one.
    pub params: &'static [(&'static str, &'static str)],
    /// Columns that distinguish its lines, with headings.
    pub keys: &'static [Measure],
    /// A column that is shown below each line.
    pub text: Option<&'static str>,
    /// Measures. Two periods have a column with the difference of the first one, by which lines are sorted.
    pub measures: &'static [Measure],
    /// How many lines are shown.
    pub lines: usize,
    /// True if lines keep the order of the question: they are few and have names.
    pub is_list: bool,
    /// True if lines that are alike in both periods say nothing.
    pub differs_only: bool,
}

const fn m(column: &'static str, heading: &'static str) -> Measure {
    Measure { column, heading }
}

/// A section whose lines have names and an order.
const fn list(
    id: &'static str,
    title: &'static str,
    question: &'static str,
    keys: &'static [Measure],
    measures: &'static [Measure],
) -> Spec {
    let (params, text): (&'static [(&'static str, &'static str)], _) = (&[], None);
    Spec { id, title, question, params, keys, text, measures, lines: 60, is_list: true, differs_only: false }
}

/// A section whose largest lines are shown.
const fn top(
    id: &'static str,
    title: &'static str,
    question: &'static str,
    keys: &'static [Measure],
    measures: &'static [Measure],
) -> Spec {
    Spec { lines: 10, is_list: false, ..list(id, title, question, keys, measures) }
}

/// Statements, ordered by a measure.
const fn statements(id: &'static str, title: &'static str, by: &'static [(&'static str, &'static str)]) -> Spec {
    const MEASURES: &[Measure] = &[
        m("per_second", "per s"),
        m("per_call", "per call"),
        m("share_pct", "share"),
        m("calls_per_s", "calls"),
        m("running", "s/s"),
    ];
    Spec { params: by, text: Some("statement"), ..top(id, title, "db-statements-by", STATEMENT, MEASURES) }
}

const WHAT: &[Measure] = &[m("what", "")];
const STATEMENT: &[Measure] = &[m("digest", "digest"), m("database", "database")];
const TABLE: &[Measure] = &[m("database_name", "database"), m("relation", "table")];

/// All sections.
pub const SECTIONS: &[Spec] = &[
    list("instance", "Instance", "db-instance", &[m("name", "")], &[m("value", "value")]),
    Spec {
        differs_only: true,
        lines: 400,
        ..list(
            "settings",
            "Settings that are not the default",
            "db-settings",
            &[m("name", "")],
            &[m("value", "value"), m("unit", "unit")],
        )
    },
    list(
        "load-profile",
        "Load Profile",
        "db-load-profile",
        WHAT,
        &[
            m("per_second", "per second"),
            m("per_transaction", "per transaction"),
            m("per_db_second", "per s of DB time"),
        ],
    ),
    list("key-figures", "Instance Efficiency", "db-key-figures", &[m("name", "")], &[m("value", "value")]),
    top(
        "db-time",
        "Where DB time went",
        "db-time",
        &[m("activity", "class"), m("measured", "measured")],
        &[m("sessions", "s/s"), m("share_pct", "% DB time")],
    ),
    top(
        "waits",
        "Top Waits",
        "db-waits",
        &[m("wait_event", "event"), m("activity", "class"), m("kind", "of")],
        &[m("waiting_sessions", "s/s"), m("share_pct", "% DB time"), m("waits_per_s", "waits"), m("mean_ms", "mean")],
    ),
    Spec {
        text: Some("statement"),
        ..top(
            "statements-time",
            "Statements by total time",
            "db-statements",
            STATEMENT,
            &[
                m("running", "s/s"),
                m("share_pct", "share"),
                m("calls_per_s", "calls"),
                m("mean_ms", "mean"),
                m("rows_per_s", "rows"),
                m("cache_hits_per_s", "hits"),
                m("cache_misses_per_s", "reads"),
            ],
        )
    },
    Spec {
        differs_only: true,
        text: Some("statement"),
        ..list(
            "plans",
            "Plans of statements",
            "db-statement-plans",
            STATEMENT,
            &[m("way", "plan"), m("changes", "changed")],
        )
    },
    statements("statements-calls", "Statements by calls", &[("by", "calls")]),
    statements("statements-rows", "Statements by rows", &[("by", "rows")]),
    statements("statements-buffers", "Statements by shared buffers", &[("by", "blocks")]),
    statements("statements-reads", "Statements by block reads", &[("by", "reads")]),
    statements("statements-temp", "Statements by temporary files", &[("by", "temp")]),
    statements("statements-wal", "Statements by WAL", &[("by", "wal")]),
    top(
        "databases",
        "Databases",
        "db-databases",
        &[m("database_name", "database")],
        &[
            m("transactions_per_s", "tps"),
            m("hit_pct", "hitrate"),
            m("logical_reads_per_s", "lio_ps"),
            m("reads_per_s", "rd_ps"),
            m("rows_per_s", "rows_ps"),
            m("inserts_per_s", "ins_ps"),
            m("updates_per_s", "upd_ps"),
            m("deletes_per_s", "del_ps"),
        ],
    ),
    top(
        "tables-read",
        "Most accessed tables",
        "db-tables-read",
        TABLE,
        &[
            m("rows_share_pct", "tuples_pct"),
            m("table_hit_pct", "tab_hitpct"),
            m("index_hit_pct", "idx_hitpct"),
            m("table_reads_per_s", "tab_read"),
            m("table_hits_per_s", "tab_hit"),
            m("index_reads_per_s", "idx_read"),
            m("index_hits_per_s", "idx_hit"),
            m("full_scans_per_s", "seq_scan"),
            m("index_scans_per_s", "idx_scan"),
        ],
    ),
    top(
        "tables-changed",
        "Most changed tables, vacuum",
        "db-tables-changed",
        TABLE,
        &[
            m("changes_per_s", "changes"),
            m("inserts_per_s", "ins"),
            m("updates_per_s", "upd"),
            m("deletes_per_s", "del"),
            m("hot_pct", "HOT"),
            m("vacuums", "vacuum"),
            m("analyzes", "analyze"),
            m("live_rows", "live"),
            m("dead_rows", "dead"),
            m("size_bytes", "size"),
        ],
    ),
    top(
        "indexes",
        "Indexes",
        "db-hot-indexes",
        &[m("relation", "table"), m("index_name", "index")],
        &[
            m("scans_per_s", "idx_scan"),
            m("entries_read_per_s", "idx_tup_read"),
            m("misses_per_s", "idx_read"),
            m("hits_per_s", "idx_hit"),
            m("hit_pct", "hitpct"),
            m("size_bytes", "size"),
        ],
    ),
    top(
        "unused-indexes",
        "Indexes that were not used",
        "db-unused-indexes",
        &[m("relation", "table"), m("index_name", "index")],
        &[m("size_bytes", "size"), m("scans", "scans"), m("rows_written_per_s", "rows written")],
    ),
    Spec {
        text: Some("statements"),
        ..top(
            "blocking",
            "Roots of blocking",
            "db-blocking",
            &[m("root", "root"), m("state", "state")],
            &[
                m("session_seconds", "waited in all"),
                m("most_waiters", "waiters"),
                m("blocked_s", "for"),
                m("longest_wait_s", "longest"),
                m("at_s", "from"),
                m("transaction_age_s", "transaction"),
                m("user_name", "user"),
                m("application", "application"),
                m("relation", "table"),
                m("lock", "lock"),
                m("held_mode", "held"),
                m("wanted", "wanted"),
            ],
        )
    },
    Spec {
        text: Some("statement"),
        ..top(
            "locks",
            "Locks that were waited for",
            "db-lock-targets",
            &[m("relation", "table"), m("lock", "lock"), m("wanted", "wanted")],
            &[
                m("session_seconds", "waited in all"),
                m("waiters", "sessions"),
                m("longest_wait_s", "longest"),
                m("held", "held"),
                m("index_name", "index"),
            ],
        )
    },
    Spec {
        text: Some("last_statement"),
        ..top(
            "transactions",
            "Longest transactions",
            "db-long-transactions",
            &[m("session", "session"), m("state", "state")],
            &[
                m("transaction_age_s", "age"),
                m("idle_s", "idle"),
                m("sessions_blocked", "blocked"),
                m("xmin_age", "xmin age"),
                m("user_name", "user"),
                m("application", "application"),
                m("database_name", "database"),
            ],
        )
    },
    list("horizons", "Horizons, freeze and undo", "db-horizons", WHAT, &[m("value", "at most"), m("held_by", "of")]),
    top(
        "vacuum",
        "Dead rows and vacuum",
        "db-vacuum",
        TABLE,
        &[
            m("dead_rows", "dead"),
            m("dead_pct", "dead %"),
            m("vacuums", "vacuum"),
            m("vacuum_age_s", "last"),
            m("analyzes", "analyze"),
            m("analyze_age_s", "last analyze"),
            m("modified_since_analyze", "changed since"),
        ],
    ),
    top(
        "progress",
        "Long operations",
        "db-progress",
        &[m("session", "session"), m("command", "command"), m("relation", "table")],
        &[m("seen_s", "seen for"), m("at_s", "from"), m("phase", "phase"), m("done_pct", "done")],
    ),
    top(
        "replication",
        "Replicas and slots",
        "db-replicas",
        &[m("name", "name"), m("role", "role")],
        &[
            m("most_replay_lag_s", "behind, at most"),
            m("replay_lag_s", "mean"),
            m("most_sent_lag_bytes", "not sent"),
            m("most_replay_lag_bytes", "not applied"),
            m("retained_bytes", "log kept"),
            m("retained_more_bytes", "more kept"),
            m("xmin_age", "xmin age"),
            m("state", "state"),
            m("active", "active"),
            m("wal_status", "log"),
        ],
    ),
    list("writers", "Checkpoints, background writer, log", "db-writers-total", WHAT, &[m("value", "value")]),
    list("not-seen", "What could not be seen", "db-seen", WHAT, &[m("value", "value")]),
];
