//! Tests of rows of every type, and of results that fail half-way.

use arrow_array::{Array, Int64Array, StringArray};

use crate::connection::Engine;

fn engine() -> Engine {
    Engine::open(&[(c"threads", c"1")]).unwrap()
}

#[test]
fn a_stream_gives_its_rows_chunk_by_chunk_and_ends() {
    let engine = engine();
    let con = engine.connect().unwrap();
    let mut prepared = con.prepare("SELECT i FROM range(5000) t(i)").unwrap();
    let mut rows = prepared.stream().unwrap();
    assert_eq!(rows.schema().field(0).name(), "i");
    let (mut n, mut sum, mut chunks) = (0, 0, 0);
    while let Some(batch) = rows.next().unwrap() {
        let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        (n, sum, chunks) = (n + column.len(), sum + column.values().iter().sum::<i64>(), chunks + 1);
    }
    assert!(chunks > 1);
    assert_eq!((n, sum), (5000, 4999 * 2500));
    assert!(rows.next().unwrap().is_none());
}

#[test]
fn an_answer_without_rows_has_its_columns() {
    let engine = engine();
    let con = engine.connect().unwrap();
    let mut prepared = con.prepare("SELECT 1 AS a, '' AS \"b c\" WHERE false").unwrap();
    let mut rows = prepared.stream().unwrap();
    let names: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["a", "b c"]);
    assert!(rows.next().unwrap().is_none());
}

#[test]
fn rows_outlive_the_engine_that_gave_them() {
    let (batch, long) = {
        let engine = engine();
        let con = engine.connect().unwrap();
        let mut prepared = con.prepare("SELECT repeat('x', 1000) || i AS a, [i] AS b FROM range(10) t(i)").unwrap();
        let mut rows = prepared.stream().unwrap();
        (rows.next().unwrap().unwrap(), "x".repeat(1000))
    };
    let texts = batch.column(0).as_any().downcast_ref::<StringArray>().unwrap();
    assert_eq!(texts.value(9), long + "9");
    assert_eq!(batch.num_rows(), 10);
}

#[test]
fn an_error_half_way_is_one() {
    let engine = engine();
    let con = engine.connect().unwrap();
    let sql = "SELECT CASE WHEN i = 3000000 THEN error('half-way') ELSE i::VARCHAR END FROM range(4000000) t(i)";
    let mut prepared = con.prepare(sql).unwrap();
    let mut rows = prepared.stream().unwrap();
    let error = loop {
        match rows.next() {
            Ok(batch) => assert!(batch.is_some(), "it ended"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("half-way"), "{error}");
    drop(rows);
    // The connection goes on.
    assert_eq!(con.prepare("SELECT 'well'").unwrap().rows().unwrap().text().unwrap(), "well");
}

#[test]
fn a_type_that_arrow_does_not_have_is_refused_in_words() {
    let engine = engine();
    let con = engine.connect().unwrap();
    for sql in ["SELECT '1'::VARIANT AS a", "SELECT [{'a': '1'::VARIANT}] AS a"] {
        let error = con.prepare(sql).unwrap().stream().err().unwrap().to_string();
        assert_eq!(error, "Not implemented Error: Unsupported Arrow type VARIANT");
    }
}

#[test]
fn every_other_type_comes_through() {
    let engine = engine();
    let con = engine.connect().unwrap();
    let all = "SELECT column_name FROM (DESCRIBE SELECT * FROM test_all_types())";
    let mut names = con.prepare(&format!("SELECT string_agg(column_name, chr(10)) FROM ({all})")).unwrap();
    let names = names.rows().unwrap().text().unwrap();
    assert!(names.lines().count() > 50, "{names}");
    for name in names.lines().filter(|name| !name.contains("variant")) {
        let mut prepared = con.prepare(&format!("SELECT \"{name}\" FROM test_all_types()")).unwrap();
        let mut rows = prepared.stream().unwrap_or_else(|error| panic!("{name}: {error}"));
        let batch = rows.next().unwrap_or_else(|error| panic!("{name}: {error}")).unwrap();
        assert_eq!(batch.num_rows(), 3, "{name}");
        assert!(rows.next().unwrap().is_none());
    }
}

#[test]
fn what_is_no_text_is_refused() {
    let engine = engine();
    let con = engine.connect().unwrap();
    for sql in ["SELECT NULL::VARCHAR", "SELECT 1", "SELECT 'a' WHERE false"] {
        assert!(con.prepare(sql).unwrap().rows().unwrap().text().is_err(), "{sql}");
    }
}
