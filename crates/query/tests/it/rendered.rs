//! Every type that an answer can hold, in every format: what is written is compared with what was kept.
//!
//! With `FENXI_SAVE_ANSWERS` set the files are written anew; `git diff` shows what changed.

mod limits;
mod nested;
mod scalars;

use std::{
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{Field, Schema};
use fenxi_model::Unit;
use fenxi_query::{
    Answer, AnswerColumn,
    render::{Format, Limits, Style, json_lists, write},
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A name for a case, and the values of its one column.
type Case = (&'static str, ArrayRef);

const FORMATS: [Format; 4] = [Format::Table, Format::Csv, Format::Json, Format::Markdown];

fn answer(columns: Vec<(&str, Unit, ArrayRef)>) -> Answer {
    let described = columns.iter().map(|(name, unit, array)| AnswerColumn {
        name: (*name).to_owned(),
        ty: array.data_type().clone(),
        unit: *unit,
    });
    let described = described.collect();
    let fields: Vec<Field> =
        columns.iter().map(|(name, _, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    Answer { columns: described, schema, batches: vec![batch] }
}

/// The text written, with everything that does not print as its escape.
fn written(answer: &Answer, format: Format, style: Style) -> String {
    let mut out = Vec::new();
    match write(answer, format, style, &mut out) {
        Ok(()) => escaped(&String::from_utf8(out).unwrap()),
        Err(error) => format!("{}error: {error}\n", escaped(&String::from_utf8(out).unwrap())),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push('\n'),
            c if c.is_control() || ('\u{2000}'..='\u{206f}').contains(&c) && c != '…' => {
                out.extend(c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether Parquet gives back what was written.
fn parquet(answer: &Answer) -> String {
    let path = tempfile::NamedTempFile::new().unwrap();
    let file = path.reopen().unwrap();
    if let Err(error) = write(answer, Format::Parquet, Style::default(), file) {
        return format!("error: {error}\n");
    }
    let reader = ParquetRecordBatchReaderBuilder::try_new(path.reopen().unwrap()).unwrap().build().unwrap();
    let back: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let same = |(was, is): (&RecordBatch, &RecordBatch)| {
        was.columns().iter().zip(is.columns()).all(|(was, is)| was.to_data() == is.to_data())
    };
    let is_same = answer.batches.iter().zip(&back).all(same) && back.len() == answer.batches.len();
    if is_same { "the same comes back\n".to_owned() } else { "something else comes back\n".to_owned() }
}

fn as_json(array: &ArrayRef) -> String {
    let field = Field::new("it", array.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(array)]).unwrap();
    let mut text = String::new();
    for row in 0..batch.num_rows() {
        match json_lists(&[batch.slice(row, 1)], Limits::default()) {
            // Without the brackets of the rows and of the row.
            Ok(lists) => writeln!(text, "{}", escaped(&lists[2..lists.len() - 2])).unwrap(),
            Err(error) => writeln!(text, "error: {error}").unwrap(),
        }
    }
    text
}

/// The text that a part makes, or that it panics.
fn caught(make: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| "panics\n".to_owned())
}

fn shown(answer: &Answer, formats: &[Format]) -> String {
    let mut text = String::new();
    for &format in formats {
        write!(text, "--- {format:?}\n{}", caught(|| written(answer, format, Style::default()))).unwrap();
    }
    write!(text, "--- Parquet\n{}", caught(|| parquet(answer))).unwrap();
    for (column, array) in answer.columns.iter().zip(answer.batches[0].columns()) {
        write!(text, "--- values of {}\n{}", escaped(&column.name), caught(|| as_json(array))).unwrap();
        let name = &column.name;
        let columns = || format!("{:?}\n{:?}\n{:?}\n", answer.strings(name), answer.f64s(name), answer.lists(name));
        write!(text, "--- columns of {}\n{}", escaped(name), caught(columns)).unwrap();
    }
    text
}

fn compare(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rendered").join(file);
    if std::env::var_os("FENXI_SAVE_ANSWERS").is_some() {
        return fs_err::write(path, text).unwrap();
    }
    let kept = fs_err::read_to_string(&path).unwrap();
    let mut heading = "";
    for (number, (is, was)) in text.lines().zip(kept.lines()).enumerate() {
        if is.starts_with("===") || is.starts_with("---") {
            heading = is;
        }
        assert_eq!(is, was, "line {} of {file}, below {heading}", number + 1);
    }
    assert_eq!(text.len(), kept.len(), "{file}");
}

fn compare_cases(file: &str, formats: &[Format], cases: Vec<Case>) {
    let text = cases.into_iter().fold(String::new(), |text, (name, array)| {
        let answer = answer(vec![("it", Unit::None, array)]);
        format!("{text}=== {name}: {}\n{}", answer.columns[0].ty, shown(&answer, formats))
    });
    compare(file, &text);
}

#[test]
fn scalar_values_of_every_type_are_written_as_they_were() {
    compare_cases("scalars.txt", &FORMATS, scalars::cases());
}

#[test]
fn nested_values_of_every_type_are_written_as_they_were() {
    compare_cases("nested.txt", &[Format::Csv, Format::Json], nested::cases());
}

#[test]
fn numbers_with_units_are_scaled_as_they_were() {
    let mut text = String::new();
    for unit in [Unit::None, Unit::Bytes, Unit::BytesPerS, Unit::Hertz, Unit::Percent, Unit::Seconds, Unit::PerS] {
        for (name, array) in scalars::numbers() {
            let answer = answer(vec![("it", unit, array)]);
            let table = written(&answer, Format::Table, Style::default());
            let markdown = written(&answer, Format::Markdown, Style::default());
            write!(text, "=== {name} in {unit:?}\n{table}{markdown}").unwrap();
        }
    }
    compare("units.txt", &text);
}

#[test]
fn whole_answers_are_written_as_they_were() {
    let strings = |texts: &[&str]| Arc::new(arrow_array::StringArray::from(texts.to_vec())) as ArrayRef;
    let wide = answer(vec![
        ("n|ame", Unit::None, strings(&["a", "b|c", "d,e"])),
        ("he said \"no\"", Unit::None, strings(&["größer\nals", "日本語日本語日本語日本語", "\u{1b}[31mred"])),
        ("a,b", Unit::Bytes, Arc::new(Int64Array::from(vec![Some(1 << 40), None, Some(-5)]))),
        ("a,b", Unit::None, strings(&["", "\r", " x "])),
        ("co\nntrol\u{1b}", Unit::None, strings(&["x".repeat(60).as_str(), "y", ""])),
    ]);
    let empty = Answer { batches: vec![], ..wide.clone() };
    let mut no_rows = wide.clone();
    no_rows.batches = vec![wide.batches[0].slice(0, 0)];
    let mut several = wide.clone();
    several.batches = vec![wide.batches[0].slice(0, 1), wide.batches[0].slice(1, 2), wide.batches[0].clone()];
    let lonely = answer(vec![("it", Unit::None, strings(&["", "x", "\""]))]);
    let nothing = answer(vec![("", Unit::None, strings(&["", "x"]))]);
    let mut text = String::new();
    for (name, answer) in [
        ("wide", &wide),
        ("empty", &empty),
        ("no rows", &no_rows),
        ("several batches", &several),
        ("one column", &lonely),
        ("no name", &nothing),
    ] {
        for format in FORMATS {
            for width in [None, Some(100), Some(50), Some(5)] {
                let shown = written(answer, format, Style { width });
                write!(text, "=== {name}, {format:?}, {width:?}\n{shown}").unwrap();
            }
        }
        write!(text, "--- Parquet\n{}", parquet(answer)).unwrap();
    }
    compare("answers.txt", &text);
}

#[test]
fn slices_of_an_array_are_written_as_its_rows() {
    for (name, array) in scalars::cases().into_iter().chain(nested::cases()) {
        let whole = answer(vec![("it", Unit::None, Arc::clone(&array))]);
        let half = array.len() / 2;
        let mut parts = whole.clone();
        parts.batches = vec![whole.batches[0].slice(0, half), whole.batches[0].slice(half, array.len() - half)];
        for format in FORMATS {
            let (whole, parts) = (written(&whole, format, Style::default()), written(&parts, format, Style::default()));
            // Values that cannot be written fail after a different number of rows; decimals are whole by the batch.
            if !whole.contains("error: ") && !name.contains("too large") {
                assert_eq!(parts, whole, "{name} in {format:?}");
            }
        }
    }
}
