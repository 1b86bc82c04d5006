//! Names that people give (of columns, runs, tags, parameters) are names, and never part of a statement; odd types are
//! answered or refused in words.

use super::{Vault, knows, made_up::OTHER, served::encoded, short};

/// Names that end what they stand in, in one of the ways in which names are written.
const NAMES: [&str; 12] = [
    "usr\"",
    "usr\" FROM cpu); CREATE TABLE kept AS SELECT 1; --",
    "usr), (SELECT 1",
    "'; DROP VIEW cpu; --",
    "''",
    "usr\u{0}",
    "usr\r",
    "--",
    "/*",
    "$$",
    "*",
    "(SELECT min(name) FROM runs)",
];

#[test]
fn a_column_that_a_request_names_is_a_column() {
    let vault = Vault::new();
    for (name, served) in vault.both() {
        let before = vault.before(name);
        let sql = encoded("SELECT run, host, t, dt, usr FROM cpu");
        for word in NAMES {
            for place in ["x", "y", "series", "unit", "p.n", "chart", "from", "question"] {
                let target = format!("/api/v1/panel?sql={sql}&chart=line&run={}&{place}={}", vault.one, encoded(word));
                let answer = served.get(&target);
                let shown = format!("{place}={word:?}: {} {}", answer.status, short(&answer.text()));
                assert!(answer.status == 200 || (400..500).contains(&answer.status), "{shown}");
                assert!(!answer.text().contains(OTHER), "{shown}");
            }
            let answer = served.sql("SELECT 1 AS a", Some(word));
            assert!((400..500).contains(&answer.status), "{word:?}: {}", answer.text());
        }
        assert_eq!(served.sql("FROM kept", None).status, 400);
        vault.unchanged(&before, name, "all names");
        knows(&served);
    }
}

#[test]
fn labels_of_runs_are_texts() {
    let vault = Vault::new();
    let served = vault.serve("writable", &[]);
    for word in NAMES.iter().filter(|word| !word.contains('\0')) {
        let labels = serde_json::json!({ "name": word, "tags": { "build": word } }).to_string();
        let answer = served.change("PUT", &format!("/api/v1/runs/{}/labels", vault.one), labels.as_bytes());
        // Some are no names at all; those that are taken are printed as they are.
        if answer.status != 200 {
            assert!((400..500).contains(&answer.status), "{word:?}: {}", answer.text());
            continue;
        }
        let told = served.sql("SELECT name, tags['build'] AS b FROM runs", Some(&vault.one));
        assert_eq!(told.value(), *word, "{}", told.text());
        knows(&served);
    }
}

#[test]
fn every_type_of_the_engine_is_answered_or_refused_in_words() {
    let vault = Vault::new();
    let served = vault.serve("read-only", &["--read-only"]);
    let odd = [
        "SELECT * FROM test_all_types()",
        "SELECT * FROM test_vector_types(NULL::INT)",
        "SELECT INTERVAL '178956970 years' AS a, '290309-12-22 (BC)'::TIMESTAMP AS b, 'infinity'::DATE AS c",
        "SELECT union_value(a := 1) AS a, '101'::BIT AS b, repeat('9', 1000)::BIGNUM AS c, 'a'::ENUM ('a') AS d",
        "SELECT '1'::VARIANT AS a, MAP {MAP {1: [2]}: NULL} AS b, [[[NULL]]]::INT[][][] AS c, {'a': {'b': NULL}} AS d",
        "SELECT NULL AS a, 'nan'::DOUBLE AS b, '-inf'::FLOAT AS c, 1e308 AS d, -0.0 AS e",
        "SELECT 1 AS a, 2 AS a, 3 AS \"\", 4 AS \"a\u{0}b\"",
        "SELECT chr(0) AS a, '\u{202e}' AS b, repeat(chr(27), 3) AS c",
        "SELECT COLUMNS(*) FROM (SELECT 1 AS a WHERE false)",
        "SELECT TIME '24:00:00' AS a, TIMETZ '00:00:00+15:59:59' AS b, '12:00:00'::TIME_NS AS c",
    ];
    for statement in odd {
        for format in ["json", "csv", "arrow"] {
            let answer = served.get(&format!("/api/v1/sql?q={}&format={format}", encoded(statement)));
            let shown = format!("{format}: {statement}: {} {}", answer.status, short(&answer.text()));
            assert!(answer.status == 200 || (400..500).contains(&answer.status), "{shown}: {}", served.said());
        }
        for chart in ["table", "line", "histogram", "flame"] {
            let answer = served.panel(statement, Some(&vault.one), chart);
            let shown = format!("{chart}: {statement}: {} {}", answer.status, short(&answer.text()));
            assert!(answer.status == 200 || (400..500).contains(&answer.status), "{shown}: {}", served.said());
        }
    }
    knows(&served);
    assert!(!served.said().contains("panicked"), "{}", served.said());
}
