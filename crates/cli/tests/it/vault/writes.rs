//! A statement only reads: whatever the engine offers to write files, settings or logs with is refused, and nothing
//! is written.

use super::{Vault, knows, refused, served::encoded, short};

/// Statements that would write below `store`, of which `run` is a run's folder.
pub(super) fn writing(store: &str, run: &str) -> Vec<String> {
    let mut all = vec![
        format!("SELECT * FROM enable_profiling(format='json', save_location='{run}/run.json')"),
        format!("SELECT * FROM enable_profiling(format='json', save_location='{store}/store.json')"),
        "SELECT * FROM enable_profiling()".to_owned(),
        format!("SELECT * FROM enable_logging(storage='file', storage_path='{store}/evil')"),
        format!("SELECT * FROM enable_logging(storage='file', storage_path='{run}')"),
        format!(
            "SELECT * FROM enable_logging(storage='file', storage_config={{'path':'{store}/cache/x.csv','normalize':false}})"
        ),
        "SELECT * FROM enable_logging(storage='stdout')".to_owned(),
        "FROM enable_logging()".to_owned(),
        "FROM enable_logging('QueryLog', level='trace')".to_owned(),
    ];
    let words = ["disable_logging", "disable_profiling", "truncate_duckdb_logs", "checkpoint", "force_checkpoint"];
    all.extend(words.iter().chain(&["enable_peg_parser", "disable_peg_parser"]).map(|f| format!("FROM {f}()")));
    let hidden = format!("SELECT * FROM enable_profiling(format=''json'', save_location=''{store}/store.json'')");
    let plain = hidden.replace("''", "'");
    all.extend([
        format!("SELECT * FROM query('{hidden}')"),
        format!("SELECT * FROM query(replace('{hidden}', 'enable', 'enable'))"),
        format!("SELECT * FROM query('SELECT * FROM query(''{}'')')", hidden.replace('\'', "''''")),
        format!("SELECT * FROM json_execute_serialized_sql(json_serialize_sql('{hidden}'))"),
        format!("PRAGMA json_execute_serialized_sql(json_serialize_sql('{hidden}'))"),
        "SELECT * FROM query_table('duckdb_logs')".to_owned(),
        format!("SELECT * FROM read_duckdb('{store}/x.db')"),
        format!("WITH a AS MATERIALIZED ({plain}) SELECT 1"),
        format!("EXPLAIN ANALYZE {plain}"),
        format!("EXPLAIN {plain}"),
        format!("SUMMARIZE {plain}"),
        format!("DESCRIBE {plain}"),
        format!("PIVOT ({plain}) ON Success"),
        format!("SELECT * FROM range(1) WHERE EXISTS ({plain})"),
        format!("SELECT 1 UNION ALL SELECT count(*) FROM ({plain})"),
        plain.replace("enable_profiling", "\"Enable_PROFILING\""),
        plain.replace("enable_profiling", "main.enable_profiling"),
        plain.replace("enable_profiling", "system.main.enable_profiling"),
        plain.replace("* FROM ", "(SELECT count(*) FROM range(1), LATERAL (FROM ") + "))",
        plain.replace("SELECT * FROM", "CALL"),
    ]);
    all.extend(other_statements(store));
    all
}

/// Statements of other kinds than SELECT.
fn other_statements(store: &str) -> Vec<String> {
    let words = [
        "COPY (SELECT 1) TO '@/x.csv'",
        "COPY (SELECT 1) TO '@/x.parquet' (FORMAT parquet)",
        "EXPORT DATABASE '@/x'",
        "IMPORT DATABASE '@/x'",
        "ATTACH '@/x.db' AS x",
        "ATTACH ':memory:' AS x",
        "COPY FROM DATABASE memory TO memory",
        "CREATE TABLE x AS SELECT 1",
        "CREATE TEMP TABLE x AS SELECT 1",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
        "CREATE MACRO wmean(x, dt) AS 42",
        "INSERT INTO fenxi_runs SELECT 1",
        "DROP VIEW cpu",
        "ALTER TABLE fenxi_runs RENAME TO x",
        "UPDATE fenxi_runs SET name = 'x'",
        "DELETE FROM fenxi_runs",
        "VACUUM",
        "ANALYZE",
        "CHECKPOINT",
        "FORCE CHECKPOINT",
        "BEGIN",
        "COMMIT",
        "USE memory",
        "INSTALL httpfs",
        "LOAD '@/x.so'",
        "SET VARIABLE a = 1",
        "SET threads = 1",
        "SET profiling_output = '@/x.json'",
        "RESET ALL",
        "PRAGMA enable_profiling = 'json'",
        "PRAGMA profiling_output = '@/x.json'",
        "PRAGMA enable_verification",
        "PRAGMA add_parquet_key('k', '0123456789112345')",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "DEALLOCATE p",
        "COMMENT ON VIEW cpu IS 'x'",
        "SELECT 1; SELECT 2",
        "SELECT 1; CREATE TABLE x AS SELECT 1",
        "EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '@/x.csv'",
        "WITH a AS (SELECT 1) INSERT INTO fenxi_runs FROM a",
        "MERGE INTO fenxi_runs USING (SELECT 1) ON true WHEN MATCHED THEN DELETE",
    ];
    words.iter().map(|word| word.replace('@', store)).collect()
}

#[test]
fn no_statement_that_writes_is_taken_and_none_changes_a_file() {
    let vault = Vault::new();
    let run = vault.folder_of(&vault.one);
    for (name, served) in vault.both() {
        let before = vault.before(name);
        for statement in writing(&vault.path().to_string_lossy(), &run.to_string_lossy()) {
            refused(&served.sql(&statement, None), &statement);
            // A profiling output that was set would be written at the end of the next statement.
            assert_eq!(served.sql("SELECT 1 AS a", None).value(), 1, "after {statement}");
            vault.unchanged(&before, name, &statement);
        }
        knows(&served);
    }
}

#[test]
fn a_panel_and_a_question_write_as_little_as_a_statement() {
    let vault = Vault::new();
    let run = vault.folder_of(&vault.one);
    let statements = writing(&vault.path().to_string_lossy(), &run.to_string_lossy());
    for (name, served) in vault.both() {
        let before = vault.before(name);
        for statement in &statements {
            refused(&served.panel(statement, Some(&vault.one), "table"), statement);
            refused(&served.get(&format!("/api/v1/sql?q={}", encoded(statement))), statement);
            // To be kept it must be understood, and these are not even explained.
            let text = format!("-- title: T\n{statement}\n");
            refused(&served.change("PUT", "/api/v1/questions/mine", text.as_bytes()), statement);
            vault.unchanged(&before, name, statement);
        }
        knows(&served);
    }
}

/// Comments and quotes that a reader of SQL and the engine might end at different places, before and after a CREATE.
fn smuggled(create: &str) -> Vec<String> {
    let ends =
        ["\r", "\u{2028}", "\u{2029}", "\u{85}", "\x0b", "\x0c", "\u{a0}", "\u{feff}", "\x00", "\x1a", "\u{200b}"];
    let mut all: Vec<String> = ends.iter().map(|end| format!("--{end}{create};\nSELECT 1")).collect();
    all.extend(ends.iter().map(|end| format!("SELECT 1 --{end}; {create}")));
    all.extend(ends.iter().map(|end| format!("{end}{create};{end}SELECT 1")));
    all.extend([
        format!("--\r\r{create};\r\nSELECT 1"),
        format!("-- a\r-- b\r{create};--\nSELECT 1"),
        format!("/* /* */ {create}; /* */ */ SELECT 1"),
        format!("/* /* */ {create}; SELECT 1 -- */"),
        format!("/*/ {create}; SELECT 1 --*/"),
        format!("/**/ {create}; SELECT 1"),
        format!("SELECT $$ ; $$; {create}"),
        format!("SELECT $$'$$; {create}; SELECT '"),
        format!("SELECT $a$ $$ ' $a$; {create}; SELECT '"),
        format!("SELECT $a$ ' $b$ $a$; {create}; SELECT ' $b$'"),
        format!("SELECT E'\\'; {create}; SELECT '"),
        format!("SELECT e'\\''; {create}; SELECT ''"),
        format!("SELECT '\\'; {create}; SELECT 1 --'"),
        format!("SELECT \"\"\"\"; {create}; SELECT 1"),
        format!("SELECT X'27'; {create}; SELECT ''"),
        format!("SELECT U&'\\0027'; {create}; SELECT ''"),
        format!("SELECT 1 AS \"a--\"; {create}; SELECT 1"),
        format!("\u{feff}SELECT 1; {create}"),
        format!("#\n{create}; SELECT 1"),
        format!("{create}; SELECT 1"),
        format!("; ; {create}; ; SELECT 1"),
        format!("({create}); SELECT 1"),
        format!("PIVOT (SELECT 1 AS a) ON a; {create}"),
        format!("{create}; PIVOT (SELECT 1 AS a) ON a"),
        format!("--\r{create};\nPIVOT (SELECT 1 AS a) ON a"),
        format!("EXPLAIN --\r{create};\nSELECT 1"),
        format!("EXPLAIN ANALYZE --\r{create}"),
        format!("EXPLAIN ANALYZE EXPLAIN ANALYZE {create}"),
        format!("EXPLAIN (ANALYZE) {create}"),
        format!("EXPLAIN (FORMAT json) {create}"),
    ]);
    all
}

/// Objects that would lie to the next client.
const CREATES: [&str; 5] = [
    "CREATE OR REPLACE MACRO wmean(x, dt) AS 42.0",
    "CREATE OR REPLACE VIEW cpu AS SELECT '@' AS run, NULL::INT AS cpu, 99.9 AS usr, 1.0 AS dt",
    "CREATE OR REPLACE TABLE fenxi_runs AS SELECT 1 AS a",
    "CREATE TABLE kept AS SELECT * FROM range(1000)",
    "CREATE TEMP MACRO sum(x) AS 42",
];

#[test]
fn no_end_of_line_comment_or_quote_hides_a_create() {
    let vault = Vault::new();
    for (name, served) in [("read-only", vault.serve("read-only", &["--read-only"]))] {
        let before = vault.before(name);
        for (number, create) in CREATES.iter().enumerate() {
            // Each way with one of them, and the way of the report with all.
            let ways = smuggled(create).into_iter().enumerate();
            for statement in ways.filter(|(way, _)| way % CREATES.len() == number || *way == 0).map(|(_, s)| s) {
                let answer = served.sql(&statement, None);
                // A comment to both is a comment; a second statement never runs.
                let fine = answer.status == 200 || (400..500).contains(&answer.status);
                assert!(fine, "{statement:?}: {} {}", answer.status, short(&answer.text()));
                let kept = served.sql("FROM kept", None);
                assert_eq!(kept.status, 400, "{statement:?}: {}", short(&kept.text()));
                assert_eq!(served.sql("SELECT count(*) AS n FROM runs", None).value(), 2, "{statement:?}");
                knows(&served);
            }
        }
        vault.unchanged(&before, name, "every CREATE");
    }
}

#[test]
fn a_create_behind_a_carriage_return_is_refused() {
    let vault = Vault::new();
    for (_, served) in vault.both() {
        for create in CREATES {
            let statement = format!("--\r{create};\nSELECT 1");
            refused(&served.sql(&statement, None), &statement);
            refused(&served.panel(&statement, None, "table"), &statement);
        }
        knows(&served);
    }
}
