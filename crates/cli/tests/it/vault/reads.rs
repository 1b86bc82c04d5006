//! A statement sees the runs that were asked for, and nothing else of the machine.

use super::{Vault, knows, made_up::OTHER, served::SECRET, tells_nothing};

#[test]
fn nothing_outside_the_store_is_read() {
    let vault = Vault::new();
    // Read access does not depend on what may be changed.
    for (name, served) in [("read-only", vault.serve("read-only", &["--read-only"]))] {
        let secret = vault.place(name).folder.join("secret");
        let paths = [secret.to_str().unwrap(), "/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/dev/fd/3"];
        for path in paths {
            let up = format!("{}/../{name}/secret", vault.path().display());
            for path in [path, &up, &format!("file://{path}"), &format!("{path}*")] {
                for reader in [
                    "read_text(@)",
                    "read_blob(@)",
                    "read_csv(@, header=false, columns={'a': 'VARCHAR'})",
                    "read_csv_auto(@)",
                    "read_json(@)",
                    "read_json_objects(@)",
                    "read_ndjson_objects(@)",
                    "read_parquet(@)",
                    "parquet_metadata(@)",
                    "parquet_schema(@)",
                    "sniff_csv(@)",
                    "glob(@)",
                    "@",
                ] {
                    let statement = format!("SELECT * FROM {}", reader.replace('@', &format!("'{path}'")));
                    let answer = served.sql(&statement, None);
                    tells_nothing(&answer, &statement);
                    let empty = answer.status == 200 && answer.rows().is_empty();
                    assert!(empty || (400..500).contains(&answer.status), "{statement}: {}", answer.text());
                }
            }
        }
        knows(&served);
    }
}

#[test]
fn the_environment_is_told_to_nobody() {
    let vault = Vault::new();
    for (_, served) in vault.both() {
        for statement in [
            "SELECT getenv('FENXI_CANARY') AS a",
            "SELECT getenv('FENXI_' || 'CANARY') AS a",
            "SELECT list(value) AS a FROM duckdb_settings()",
            "SELECT current_setting('home_directory') AS a",
            "SELECT * FROM duckdb_secrets(redact=false)",
            "SELECT * FROM which_secret('s3://x', 's3')",
        ] {
            let answer = served.sql(statement, None);
            assert!(!answer.text().contains(SECRET), "{statement}: {}", answer.text());
        }
        knows(&served);
    }
}

#[test]
fn a_statement_about_one_run_does_not_see_another() {
    let vault = Vault::new();
    let two = vault.folder_of(&vault.two);
    let store = vault.path();
    for (_, served) in vault.both() {
        for statement in [
            "SELECT name FROM runs".to_owned(),
            "SELECT * FROM text".to_owned(),
            "SELECT sum(usr) AS a FROM cpu".to_owned(),
            format!("SELECT * FROM read_parquet('{}/text.parquet')", two.display()),
            format!("SELECT * FROM read_parquet('{}/runs/*/text.parquet')", store.display()),
            format!("SELECT * FROM '{}/runs/**/*.parquet'", store.display()),
            format!("SELECT * FROM read_text('{}/run.json')", two.display()),
            format!("SELECT * FROM read_text('{}/runs/*/run.json')", store.display()),
            format!("SELECT * FROM read_text('{}/labels/*')", store.display()),
            format!("SELECT * FROM read_blob('{}/cache/index.json')", store.display()),
            format!("SELECT * FROM read_text('{}/questions/*')", store.display()),
            format!("SELECT * FROM read_json('{}/runs/*/run.json')", store.display()),
            format!("SELECT * FROM glob('{}/**')", store.display()),
            format!("SELECT * FROM parquet_metadata('{}/*.parquet')", two.display()),
            format!("SELECT * FROM parquet_bloom_probe('{}/text.parquet', 'name', 'who')", two.display()),
            "SELECT sql FROM duckdb_views()".to_owned(),
            "SELECT * FROM fenxi_runs".to_owned(),
            "SELECT * FROM duckdb_external_file_cache()".to_owned(),
            "SELECT * FROM duckdb_logs".to_owned(),
            "SELECT current_query() AS a".to_owned(),
        ] {
            // An answer over all runs first: what it has seen must not be left lying about.
            served.sql("SELECT * FROM text, runs", None);
            let answer = served.sql(&statement, Some(&vault.one));
            let text = answer.text();
            let words = [OTHER, vault.two.as_str(), "4020.0", "5880.0"];
            let told = words.iter().find(|word| text.contains(**word));
            // Errors may show the statement.
            let shown = answer.status != 200 && told.is_some_and(|word| statement.contains(*word));
            assert!(told.is_none() || shown, "{statement} reveals {told:?}: {text}");
        }
        knows(&served);
    }
}
