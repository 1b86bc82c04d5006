//! Appearance of answers in each format.

use fenxi_query::{
    Answer, Scope,
    render::{Format, Style, write},
};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::store::{TestStore, cells};

const SQL: &str = "SELECT * FROM (VALUES
    ('a|b', 1.5, 1048576.0, 3, TIMESTAMPTZ '2026-11-21 14:00:00+00', NULL, [1.0, 2.0]),
    ('größer\nals', 123.456, 3145728000.0, 12345678, TIMESTAMPTZ '2026-11-21 14:00:01.5+00', true, NULL))
    v(name, usr, rss_bytes, n, t, ok, line)";

fn render(sql: &str, format: Format, style: Style) -> String {
    let s = TestStore::new();
    let answer = s.engine().query(sql, &Scope::all()).unwrap();
    let mut out = Vec::new();
    write(&answer, format, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_table_is_aligned_with_units_and_null_as_a_dash() {
    let want = "\
name          usr  rss_bytes         n  t                        ok    line
                %        MiB
----------  -----  ---------  --------  -----------------------  ----  ----------
a|b           1.5          1         3  2026-11-21 14:00:00.000  -     [1.0, 2.0]
größer?als  123.5       3000  12345678  2026-11-21 14:00:01.500  true  -
";
    assert_eq!(render(SQL, Format::Table, Style::default()), want);
}

#[test]
fn wide_text_is_cut_to_the_terminal_and_wide_characters_count_double() {
    let sql = "SELECT * FROM (VALUES ('日本語日本語日本語', repeat('x', 50), 1), ('a', repeat('y', 50), 2)) AS v(word, long, n)";
    let out = render(sql, Format::Table, Style { width: Some(40) });
    assert_eq!(out.lines().nth(2).unwrap(), "日本語日本語日本語  xxxxxxxxxxxxxxxx…  1");
    let out = render(sql, Format::Table, Style { width: Some(30) });
    assert!(out.lines().nth(2).unwrap().starts_with("日本語日本"), "{out}");
    assert!(out.lines().nth(2).unwrap().contains("…  x"), "{out}");
}

#[test]
fn what_is_too_wide_is_turned_said_above_or_left_out_and_named() {
    let narrow = |sql: &str| render(sql, Format::Table, Style { width: Some(30) });
    let one = narrow("SELECT 'a' AS word, repeat('x', 50) AS long, 1 AS n");
    assert_eq!(one, format!("word  a\nlong  {}\nn     1\n", "x".repeat(50)));
    let alike = "SELECT * FROM (VALUES ('vm', repeat('x', 50), 1), ('vm', repeat('y', 50), 2)) AS v(host, long, n)";
    let above = narrow(alike);
    assert!(above.starts_with("host vm\nlong") && above.lines().all(|line| line.chars().count() <= 30), "{above}");
    let numbers = "SELECT * FROM (VALUES (1111111111, 1111111112, 1111111113, 1111111114), \
                   (2111111111, 2111111112, 2111111113, 2111111114)) AS v(a, b, c, d)";
    let left_out = narrow(numbers);
    assert!(left_out.ends_with("2111111111  2111111112\n(no room for: c, d)\n"), "{left_out}");
    // Where there is no terminal all of it is in one table.
    let all = render(alike, Format::Table, Style::default());
    assert!(all.starts_with("host  long") && !all.contains("no room"), "{all}");
}

#[test]
fn csv_has_full_precision_base_units_and_iso_times() {
    let want = "\
name,usr,rss_bytes,n,t,ok,line
a|b,1.5,1048576.0,3,2026-11-21T14:00:00Z,,\"[1.0, 2.0]\"
\"größer
als\",123.456,3145728000.0,12345678,2026-11-21T14:00:01.500Z,true,
";
    assert_eq!(render(SQL, Format::Csv, Style::default()), want);
}

#[test]
fn json_lines_have_one_object_a_row_with_explicit_nulls() {
    let out = render(SQL, Format::Json, Style::default());
    let rows: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["ok"], serde_json::Value::Null);
    assert!(rows[0].as_object().unwrap().contains_key("ok"));
    assert_eq!(rows[0]["line"], serde_json::json!([1.0, 2.0]));
    assert_eq!(rows[1]["n"], 12_345_678);
    assert_eq!(rows[1]["t"], "2026-11-21T14:00:01.500Z");
}

#[test]
fn times_within_lists_and_rows_of_a_table_are_shown() {
    let sql = "SELECT max(v) AS latest, list(t ORDER BY t) AS times FROM (VALUES (TIMESTAMPTZ '2026-11-21 14:00:00+00', 1), \
               (TIMESTAMPTZ '2026-11-21 14:00:01.5+00', 2)) v(t, n)";
    for format in [Format::Table, Format::Csv, Format::Json, Format::Markdown, Format::Parquet] {
        let s = TestStore::new();
        let answer = s.engine().query(sql, &Scope::all()).unwrap();
        let mut out = Vec::new();
        write(&answer, format, Style::default(), &mut out).unwrap();
        let shows = String::from_utf8_lossy(&out).matches("2026-11-21T14:00:01.5").count();
        assert!(shows == 2 || format == Format::Parquet, "{format:?}: {}", String::from_utf8_lossy(&out));
    }
    let rows: serde_json::Value = serde_json::from_str(&render(sql, Format::Json, Style::default())).unwrap();
    assert_eq!(rows["latest"]["n"], 2);
    assert_eq!(rows["times"][0], "2026-11-21T14:00:00Z");
}

#[test]
fn markdown_escapes_bars_and_aligns_numbers() {
    let want = "\
| name | usr (%) | n |
| --- | ---: | ---: |
| a\\|b | 1.500 | 3 |
";
    assert_eq!(render("SELECT 'a|b' AS name, 1.5 AS usr, 3 AS n", Format::Markdown, Style::default()), want);
}

#[test]
fn an_answer_without_rows_still_has_its_header() {
    let sql = "SELECT 1 AS a, 'x' AS b WHERE false";
    assert_eq!(render(sql, Format::Csv, Style::default()), "a,b\n");
    assert_eq!(render(sql, Format::Json, Style::default()), "");
    assert_eq!(render(sql, Format::Table, Style::default()), "a  b\n-  -\n");
}

#[test]
fn parquet_holds_the_answer() {
    let s = TestStore::new();
    let answer = s.engine().query(SQL, &Scope::all()).unwrap();
    let path = s.folder.path().join("out.parquet");
    write(&answer, Format::Parquet, Style::default(), fs_err::File::create(&path).unwrap()).unwrap();
    let file = fs_err::File::open(&path).unwrap().into_parts().0;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let back = Answer { batches: reader.map(Result::unwrap).collect(), ..answer.clone() };
    assert_eq!(cells(&back), cells(&answer));
}

#[test]
fn sums_of_integers_are_numbers_in_json() {
    assert_eq!(render("SELECT sum(i) AS s FROM range(10) r(i)", Format::Json, Style::default()), "{\"s\":45}\n");
}

#[test]
fn a_table_of_many_rows_streams_with_settled_widths() {
    let out = render("SELECT i FROM range(30000) r(i)", Format::Table, Style::default());
    assert_eq!(out.lines().count(), 30_002);
}
