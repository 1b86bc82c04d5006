//! A statement begins as if none had been before it: nothing that one makes, sets or learns is there for the next.

use super::{Vault, knows};

#[test]
fn a_run_that_was_renamed_is_told_by_its_new_name_at_once() {
    let vault = Vault::new();
    let served = vault.serve("writable", &[]);
    let name = || served.sql("SELECT name FROM runs", Some(&vault.one)).value();
    assert_eq!(name(), "first");
    for new in ["renamed", "renamed again"] {
        let labels = serde_json::json!({ "name": new, "tags": { "build": new } }).to_string();
        let answer = served.change("PUT", &format!("/api/v1/runs/{}/labels", vault.one), labels.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(name(), new);
        assert_eq!(served.sql("SELECT tags['build'] AS a FROM runs", Some(&vault.one)).value(), new);
        let all = served.sql("SELECT count(*) AS n FROM runs WHERE name LIKE 'renamed%'", None);
        assert_eq!(all.value(), 1);
    }
}

#[test]
fn nothing_that_a_statement_makes_or_sets_is_there_for_the_next() {
    let vault = Vault::new();
    for (_, served) in vault.both() {
        let settings = || served.sql("SELECT name, value FROM duckdb_settings() ORDER BY name", None).text();
        let objects = || {
            let words = [
                "SELECT table_name FROM duckdb_tables() ORDER BY ALL",
                "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
                "SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
                "SELECT database_name FROM duckdb_databases() ORDER BY ALL",
                "SELECT schema_name FROM duckdb_schemas() ORDER BY ALL",
                "SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY ALL",
                "SELECT * FROM duckdb_sequences()",
                "SELECT * FROM duckdb_prepared_statements()",
                "SELECT * FROM duckdb_variables()",
            ];
            // Where a catalogue is not to be seen there is nothing to compare; its answer is the same each time.
            words.map(|word| served.sql(word, None).rows())
        };
        let (was_set, were) = (settings(), objects());
        for statement in [
            "CREATE TEMP TABLE kept AS SELECT 1",
            "CREATE SEQUENCE kept",
            "CREATE TYPE kept AS ENUM ('a')",
            "CREATE SCHEMA kept",
            "SET VARIABLE kept = 1",
            "SET GLOBAL threads = 1",
            "SELECT set_config('threads', '1', false)",
            "ATTACH ':memory:' AS kept",
            "PREPARE kept AS SELECT 1",
            "USE system",
            "PIVOT (SELECT range % 3 AS kept FROM range(9)) ON kept USING count(*)",
            "FROM enable_logging()",
            "FROM enable_profiling()",
            "BEGIN",
        ] {
            let answer = served.sql(statement, None);
            assert!(answer.status == 200 || (400..500).contains(&answer.status), "{statement}: {}", answer.text());
            let same = |rows: &Vec<Vec<serde_json::Value>>, of: &Vec<Vec<serde_json::Value>>| rows == of;
            assert!(objects().iter().zip(&were).all(|(now, was)| same(now, was)), "{statement} left something");
        }
        // Temporary folders may have other names each time; nothing else may be other.
        let line = |text: String| text.split("],[").filter(|row| !row.contains("tmp")).map(str::to_owned).collect();
        let (now, was): (Vec<String>, Vec<String>) = (line(settings()), line(was_set));
        assert_eq!(now, was);
        knows(&served);
    }
}

#[test]
fn random_numbers_that_one_has_seeded_are_not_foretold_to_another() {
    let vault = Vault::new();
    let served = vault.serve("read-only", &["--read-only"]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        served.sql("SELECT setseed(0.5)", None);
        seen.push(served.sql("SELECT random() AS a", None).text());
    }
    let numbers: std::collections::BTreeSet<String> =
        seen.iter().map(|text| text.split("\"rows\":").nth(1).unwrap_or(text).chars().take(12).collect()).collect();
    assert_eq!(numbers.len(), seen.len(), "{seen:?}");
}

#[test]
fn random_numbers_and_uuids_are_not_the_same_in_every_answer() {
    let vault = Vault::new();
    let served = vault.serve("read-only", &["--read-only"]);
    for statement in ["SELECT random() AS a", "SELECT gen_random_uuid()::VARCHAR AS a", "SELECT uuidv7()::VARCHAR AS a"]
    {
        // A worker that is copied from another begins where that one was.
        let seen: std::collections::BTreeSet<String> =
            (0..5).map(|_| served.sql(statement, None).value().to_string()).collect();
        assert_eq!(seen.len(), 5, "{statement}: {seen:?}");
    }
}

#[test]
fn statements_of_others_cannot_be_read() {
    let vault = Vault::new();
    let served = vault.serve("read-only", &["--read-only"]);
    let marked = "SELECT 1 AS a_word_that_only_one_knows";
    for statement in [
        "FROM duckdb_logs",
        "FROM duckdb_logs()",
        "FROM duckdb_log_contexts()",
        "FROM duckdb_logs_parsed('QueryLog')",
        "FROM duckdb_prepared_statements()",
        "FROM query_table('duckdb_logs')",
        "FROM duckdb_temporary_files()",
        "FROM duckdb_memory()",
    ] {
        served.sql("FROM enable_logging()", None);
        assert_eq!(served.sql(marked, None).value(), 1);
        let answer = served.sql(statement, None);
        assert!(!answer.text().contains("a_word_that_only_one_knows"), "{statement}: {}", answer.text());
    }
}
