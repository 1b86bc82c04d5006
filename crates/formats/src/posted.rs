//! Outputs as people post them, each with its expected rows: `fixtures/posted/*`, a text and below `==== expected ====` what must be
//! read from it, or must not.
//!
//! `is FORMAT` names the format, or `nothing`. `TABLE  column=value  …` is a row that is there (a value of a time may be cut), `no`
//! before it one that is not. `n TABLE 3` counts rows, `notes 0` and `notes some` notes, `distinct TABLE column` requires that no two
//! rows have the same. Words are separated by blanks.

use std::path::Path;

use crate::{Formats, Head, Input, fixtures::read_any};

/// Rows of a table as the names of columns and their values.
struct Rendered<'a> {
    table: &'a str,
    cells: Vec<(&'a str, &'a str)>,
}

/// The rows of a text that [`read_any`] made.
fn rows(text: &str) -> Vec<Rendered<'_>> {
    let (mut rows, mut table, mut names) = (Vec::new(), "", None);
    for line in text.lines() {
        if let Some(begun) = line.strip_prefix("# ") {
            (table, names) = (begun, None);
        } else if let Some(names) = &names {
            let names: &Vec<&str> = names;
            rows.push(Rendered { table, cells: names.iter().copied().zip(line.split('\t')).collect() });
        } else {
            names = Some(line.split('\t').collect::<Vec<_>>());
        }
    }
    rows
}

impl Rendered<'_> {
    fn has(&self, words: &[&str]) -> bool {
        let (mut table, mut wanted) = (self.table.to_owned(), words);
        let mut expected = words[0].to_owned();
        if words.get(1) == Some(&"since boot") {
            expected.push_str(" since boot");
            wanted = &words[1..];
        }
        let value = |word: &&str| {
            let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("{word}: a column and its value"));
            self.cells
                .iter()
                .any(|(column, cell)| *column == name && (*cell == value || name == "t" && cell.starts_with(value)))
        };
        table.truncate(table.trim_end().len());
        table == expected && wanted[1..].iter().all(value)
    }
}

/// Lines of `expected` that do not hold.
fn wrong(text: &str, expected: &str) -> Vec<String> {
    let input = Input::new(text.as_bytes());
    let format = Formats::default().detect(&Head { text: &input.head() });
    let name = format.as_ref().map_or("nothing", |format| format.name());
    let hints = crate::Hints {
        modified: fenxi_model::Micros::parse("2026-01-02T03:04:05"),
        default_host: "fixture".to_owned(),
        ..crate::Hints::none("file")
    };
    let read = format.as_ref().map(|format| read_any(format, text.as_bytes(), hints));
    let all = read.as_ref().map_or("", |read| read.text.as_str());
    let rows = rows(all);
    let notes = read.as_ref().map_or(0, |read| read.tally.notes);
    let of = |table: &str| rows.iter().filter(|row| row.table == table).count();
    let holds = |line: &str| {
        let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["is", wanted] => wanted == name,
            ["t", wanted] => {
                rows.iter().any(|row| row.cells.iter().any(|(name, cell)| *name == "t" && cell.starts_with(wanted)))
            }
            ["n", table, n] => of(table) == n.parse::<usize>().unwrap_or(usize::MAX),
            ["notes", "0"] => notes == 0,
            ["notes", "some"] => notes > 0,
            ["distinct", table, column] => {
                let mut seen = std::collections::BTreeSet::new();
                let cells = rows.iter().filter(|row| row.table == table).flat_map(|row| &row.cells);
                of(table) > 0 && cells.filter(|(name, _)| *name == column).all(|(_, cell)| seen.insert(*cell))
            }
            ["no", table, value] => !rows.iter().any(|row| row.has(&[table, value])),
            _ => rows.iter().any(|row| row.has(&words)),
        }
    };
    let wrong: Vec<String> =
        expected.lines().filter(|line| !line.is_empty() && !holds(line)).map(str::to_owned).collect();
    if wrong.is_empty() { wrong } else { [wrong, vec![format!("read as {name}:\n{all}")]].concat() }
}

#[test]
fn what_people_post_is_read_as_it_is_meant() {
    let mut files: Vec<_> =
        fs_err::read_dir(Path::new("fixtures/posted")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut failed = Vec::new();
    for path in &files {
        let text = fs_err::read_to_string(path).unwrap();
        let (text, expected) = text.split_once("==== expected ====\n").unwrap();
        let wrong = wrong(text, expected);
        if !wrong.is_empty() {
            failed.push(format!("{}: {}", path.file_name().unwrap_or_default().display(), wrong.join("\n   ")));
        }
    }
    assert!(failed.is_empty(), "{} of {} are not:\n{}", failed.len(), files.len(), failed.join("\n"));
}
