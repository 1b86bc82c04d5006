//! Tests of statements, parameters, appenders and errors.

use fenxi_worker::Cell;

use super::{Connection, Engine};
use crate::ffi;

fn engine() -> Engine {
    Engine::open(&[(c"threads", c"1")]).unwrap()
}

fn text(con: &Connection<'_>, sql: &str) -> String {
    con.prepare(sql).unwrap().rows().unwrap().text().unwrap()
}

#[test]
fn a_setting_that_the_engine_does_not_know_is_refused_by_name() {
    let error = Engine::open(&[(c"threads", c"1"), (c"no_such_setting", c"1")]).err().unwrap().to_string();
    assert!(error.contains("no_such_setting"), "{error}");
    let error = Engine::open(&[(c"threads", c"none")]).err().unwrap().to_string();
    assert!(error.contains("threads"), "{error}");
}

#[test]
fn parameters_get_their_values_by_name_whatever_their_order() {
    let engine = engine();
    let con = engine.connect().unwrap();
    let sql = "SELECT concat_ws('|', $b, $a, $t, $n IS NULL, $f, $b)::VARCHAR";
    let mut prepared = con.prepare(sql).unwrap();
    let text = Cell::Text("ü'\0\"".to_owned());
    let cells = [("a", Cell::Int(i64::MIN)), ("t", Cell::Bool(true)), ("n", Cell::Null), ("f", Cell::Float(0.5))];
    let mut params: Vec<(&str, &Cell)> = cells.iter().map(|(name, cell)| (*name, cell)).collect();
    params.push(("b", &text));
    prepared.bind(&params).unwrap();
    let expected = "ü'\0\"|-9223372036854775808|true|true|0.5|ü'\0\"";
    assert_eq!(prepared.rows().unwrap().text().unwrap(), expected);
}

#[test]
fn a_parameter_too_many_or_too_few_is_named() {
    let engine = engine();
    let con = engine.connect().unwrap();
    let cell = Cell::Int(1);
    let refused = |sql: &str, names: &[&str]| {
        let params: Vec<(&str, &Cell)> = names.iter().map(|name| (*name, &cell)).collect();
        con.prepare(sql).unwrap().bind(&params).unwrap_err().to_string()
    };
    assert_eq!(refused("SELECT $a + $b", &["a"]), "Invalid parameter name: b");
    assert_eq!(refused("SELECT $a", &["a", "c"]), "Invalid parameter name: c");
    assert_eq!(refused("SELECT 1", &["a"]), "Invalid parameter name: a");
    assert_eq!(refused("SELECT $a", &["a", "a"]), "Invalid parameter name: duplicate parameter name: a");
    let positional = "Invalid parameter name: positional parameter 1 cannot be used with named parameters";
    assert_eq!(refused("SELECT ?", &["a"]), positional);
}

#[test]
fn rows_are_in_the_table_after_the_flush() {
    let engine = engine();
    let con = engine.connect().unwrap();
    con.run("CREATE TABLE t(a BIGINT, b DOUBLE, c VARCHAR, d BOOLEAN)").unwrap();
    let mut appender = con.appender("t").unwrap();
    for i in 0..3000 {
        appender.row(&[Cell::Int(i), Cell::Float(0.5), Cell::Text("a\0b".to_owned()), Cell::Bool(true)]).unwrap();
    }
    appender.row(&[Cell::Null, Cell::Null, Cell::Null, Cell::Null]).unwrap();
    appender.flush().unwrap();
    let sums = "SELECT concat_ws('|', count(*), sum(a), sum(b), sum(length(c)), count(d)) FROM t";
    assert_eq!(text(&con, sums), "3001|4498500|1500.0|9000|3000");
}

#[test]
fn a_row_that_does_not_fit_the_table_is_an_error_in_words() {
    let engine = engine();
    let con = engine.connect().unwrap();
    con.run("CREATE TABLE t(a BIGINT)").unwrap();
    let error = con.appender("nowhere").err().unwrap().to_string();
    assert!(error.contains("nowhere"), "{error}");
    let error = con.appender("t").unwrap().row(&[Cell::Int(1), Cell::Int(2)]).unwrap_err().to_string();
    assert!(error.contains("Too many appends"), "{error}");
    let error = con.appender("t").unwrap().row(&[]).unwrap_err().to_string();
    assert!(error.contains("before all columns"), "{error}");
    let error = con.appender("t").unwrap().row(&[Cell::Text("x".to_owned())]).unwrap_err().to_string();
    assert_eq!(error, "Could not convert string 'x' to INT64");
    assert_eq!(text(&con, "SELECT count(*)::VARCHAR FROM t"), "0");
}

#[test]
fn a_text_is_cut_into_its_statements() {
    let engine = engine();
    let con = engine.connect().unwrap();
    for (sql, n) in [("", 0), (" -- nothing\n;", 0), ("SELECT 1;", 1), ("SELECT ';'; CREATE TABLE a(b INT); ", 2)] {
        assert_eq!(con.statements(sql).unwrap().len(), n, "{sql}");
    }
    let two = con.statements("SELECT 1; CREATE TABLE a(b INT)").unwrap();
    assert_eq!(two.prepare(0).unwrap().kind(), ffi::SELECT);
    assert_eq!(two.prepare(1).unwrap().kind(), ffi::CREATE);
    assert!(two.prepare(2).is_err());
    let error = con.statements("SELEC 1").err().unwrap().to_string();
    assert!(error.starts_with("Parser Error: syntax error at or near \"SELEC\""), "{error}");
    assert!(con.prepare("").is_err());
    assert!(con.run("SELECT 1\0").unwrap_err().to_string().contains("zero character"));
}

#[test]
fn statements_before_the_last_are_run() {
    let engine = engine();
    let con = engine.connect().unwrap();
    assert_eq!(text(&con, "CREATE TABLE t AS SELECT 'here' AS a; SELECT a FROM t"), "here");
    let error = con.prepare("SELECT error('first'); SELECT 1").err().unwrap().to_string();
    assert!(error.contains("first"), "{error}");
    let error = con.prepare("SELECT nowhere FROM t").err().unwrap().to_string();
    assert!(error.starts_with("Binder Error: ") && error.contains("nowhere"), "{error}");
}
