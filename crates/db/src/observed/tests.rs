//! Examples of statements: which is kept, and what of it is sent.

use fenxi_model::statement::Quotes;

use super::*;

#[test]
fn an_example_has_all_its_values_and_is_kept_once() {
    let mut told = Observed::default();
    let mut keep = |text: &str| {
        let statement = Text::of(text, Quotes::Standard, false);
        told.keep_example(&statement.digest, text, "d");
        told.examples.get(&statement.digest).map(|example| example.text.clone())
    };
    assert_eq!(keep("SELECT * FROM t WHERE a = $1"), None);
    assert_eq!(
        keep("SELECT * FROM t WHERE a = '$1' AND b = 1"),
        Some("SELECT * FROM t WHERE a = '$1' AND b = 1".into())
    );
    assert_eq!(
        keep("SELECT * FROM t WHERE a = '5' AND b = 3"),
        Some("SELECT * FROM t WHERE a = '$1' AND b = 1".into())
    );
    assert_eq!(keep("ALTER USER x PASSWORD 'y'"), None);
}

#[test]
fn what_was_prepared_in_sql_is_its_statement() {
    assert_eq!(body("PREPARE q(int) AS SELECT $1 as x"), "SELECT $1 as x");
    assert_eq!(body("SELECT 1 AS x"), "SELECT 1 AS x");
    assert!(
        is_planned("prepare q as (select 1)") && !is_planned("prepare transaction 'x'") && !is_planned("ALTER USER a")
    );
}
