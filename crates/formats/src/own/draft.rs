//! Drafts a description from a text: tables by their headers, keys of pairs, and shapes of lines; of these the one that reads most.
//!
//! A draft is read before it is given out, so that it works as it is. It has only what the text shows: what a number means is
//! left open, with a comment, and becomes a metric.

mod json;
mod lines;
mod pairs;
mod table;

use std::{collections::BTreeSet, sync::Arc};

use fenxi_model::{TABLES, Type, catalog::N_COMMON};

use super::TextFormat;
use crate::{AnyFormat, Hints, account::account};

/// Lines of a text that are looked at.
const LINES: usize = 2_000;
/// Lines of an example.
const EXAMPLE: usize = 12;

/// A description that was drafted.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its text, in TOML.
    pub toml: String,
    /// Kind of layout that it reads: `tables`, `pairs`, `lines` or `JSON`.
    pub kind: &'static str,
    /// Lines of the text that are not blank, and how many of them it cannot read.
    pub lines: usize,
    /// See `lines`.
    pub unread: usize,
    /// Rows that it gives.
    pub rows: usize,
}

/// Description by one way of reading a text.
struct Sketch {
    kind: &'static str,
    /// `[recognise]` and what is in it.
    recognise: String,
    /// The text after it.
    rest: String,
    /// Lines of the text that show it, for `example`.
    example: Vec<String>,
}

/// The draft that reads most of a text; None where nothing in it has a form.
pub fn draft(name: &str, text: &str) -> Option<Draft> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).take(LINES).collect();
    if let Some(json) = json::sketch(&lines) {
        return try_it(name, &json, &lines);
    }
    let sketches = [table::sketch(&lines), pairs::sketch(name, &lines), lines::sketch(name, &lines)];
    let drafts = sketches.into_iter().flatten().filter_map(|sketch| try_it(name, &sketch, &lines));
    // The earlier one where two read as much: it is more specific.
    drafts.min_by_key(|draft| (draft.unread, std::cmp::Reverse(draft.rows.min(1))))
}

/// The description of a sketch, if it can be read and reads something.
fn try_it(name: &str, sketch: &Sketch, lines: &[&str]) -> Option<Draft> {
    let with = written(name, sketch, true);
    let parsed = TextFormat::tried(name, "draft", &with).ok();
    // A description that would take texts of others goes without `[recognise]`.
    let (toml, format) = match parsed {
        Some(format) => (with, format),
        None => {
            let without = written(name, sketch, false);
            let format = TextFormat::tried(name, "draft", &without).ok()?;
            (without, format)
        }
    };
    let account = account(&AnyFormat::Own(Arc::new(format)), lines.join("\n").as_bytes(), Hints::none("draft"));
    let rows = account.rows.len();
    let unread = account.unread().filter(|line| line.rows.is_empty()).count();
    let lines = lines.iter().filter(|line| !line.trim().is_empty()).count();
    (rows > 0 && unread < lines).then_some(Draft { toml, kind: sketch.kind, lines, unread, rows })
}

fn written(name: &str, sketch: &Sketch, recognises: bool) -> String {
    let most = if sketch.kind == "JSON" { usize::MAX } else { EXAMPLE };
    let example: String = sketch.example.iter().take(most).map(|line| format!("{line}\n")).collect();
    let mut toml = format!(
        "# A draft from one text. Decide what is marked with `?`, then try it:\n\
         #     fenxi format try FILE --description {name}.toml\n\
         #     fenxi format check {name}.toml\n\
         summary = {}    # ? which tool and options print it\n",
        quoted(&format!("{name}: what it prints"))
    );
    toml.push_str(&format!("example = {}\n", long(&example)));
    match recognises {
        true => toml.push_str(&format!("\n[recognise]    # ? what only this tool prints\n{}", sketch.recognise)),
        false => toml.push_str(
            "\n# ? Nothing here is of this tool alone: read it with `--as`, or add `[recognise]` with its name and version.\n",
        ),
    }
    toml.push_str(&sketch.rest);
    toml
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A pattern as TOML has it: as it is, where that is possible.
fn pattern(text: &str) -> String {
    if text.contains('\'') || text.chars().any(|c| c.is_control()) { quoted(text) } else { format!("'{text}'") }
}

/// A text of several lines as TOML has it.
fn long(text: &str) -> String {
    let plain = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    if text.contains("'''") || !text.chars().all(plain) {
        let lines: Vec<String> = text.lines().map(|line| quoted(line).trim_matches('"').to_owned()).collect();
        return format!("\"{}\\n\"", lines.join("\\n"));
    }
    format!("'''\n{text}'''")
}

/// A key as TOML has it.
fn key(text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.chars().all(bare) { text.to_owned() } else { quoted(text) }
}

/// A name made of a text: lower-case letters, digits and `_`.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            '%' => slug.push_str("percent"),
            _ if slug.ends_with('_') || slug.is_empty() => {}
            _ => slug.push('_'),
        }
    }
    slug.trim_end_matches('_').to_owned()
}

/// The name with a number behind it where there is one like it.
fn unique(name: String, known: &mut BTreeSet<String>) -> String {
    let mut own = name.clone();
    let mut n = 2;
    while !known.insert(own.clone()) {
        own = format!("{name}_{n}");
        n += 1;
    }
    own
}

/// Columns of the catalogue that a word may mean: those that begin as it does.
fn may_be(word: &str) -> Vec<String> {
    let slug = slug(word);
    if slug.len() < 3 {
        return Vec::new();
    }
    let like = |name: &str| name == slug || name.strip_prefix(&slug).is_some_and(|rest| rest.starts_with('_'));
    let of = |table: &'static fenxi_model::Table| {
        let columns = table.columns[N_COMMON..].iter().filter(|column| column.ty == Type::F64 && like(column.name));
        columns.map(|column| format!("{}.{}", table.name, column.name))
    };
    TABLES
        .iter()
        .copied()
        .filter(|table| !matches!(table.name, "metric" | "result" | "note"))
        .flat_map(of)
        .take(3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Draft {
        draft("mine", text).unwrap_or_else(|| panic!("nothing for {text}"))
    }

    #[test]
    fn a_table_is_drafted_from_its_header() {
        let draft = of("POOL   OPS  READ(MB)  WAIT%  POOL2\nfast   12   1.5   3%  up\nslow   1  0.0  -  down\n");
        assert_eq!((draft.kind, draft.lines, draft.unread, draft.rows), ("tables", 3, 0, 5), "{}", draft.toml);
        assert!(draft.toml.contains("POOL = \"label.pool\""), "{}", draft.toml);
        assert!(draft.toml.contains("\"WAIT%\" = \"metric %\""), "{}", draft.toml);
        let draft = of("time      r  w\n12:00:01  1  2\n12:00:02  3  4\n");
        assert_eq!((draft.unread, draft.rows), (0, 4), "{}", draft.toml);
        assert!(draft.toml.contains("time = \"time\""), "{}", draft.toml);
        // Each row has the time in front of it, and so do rows with a name.
        let draft = of("time      queue  wait_ms\n12:00:01  a  1\n12:00:01  b  2\n12:00:02  a  3\n");
        assert!(draft.toml.contains("[recognise]") && draft.toml.contains("wait_ms = \"metric ms\""), "{}", draft.toml);
        // A header of several words above a column.
        let draft =
            of("Pool Name      Active   All time\nReadStage        0          2\nGossip           1          0\n");
        assert!(draft.toml.contains("\"Pool Name\" = \"label.pool_name\""), "{}", draft.toml);
    }

    #[test]
    fn pairs_are_drafted_with_what_is_known_of_them() {
        let draft = of("Total time run:    10.29\nThroughput:   54.2\nMean wait:  12.5ms\nData read: 30 MiB\n");
        assert_eq!((draft.kind, draft.unread, draft.rows), ("pairs", 0, 4), "{}", draft.toml);
        assert!(draft.toml.contains("Throughput = \"result.throughput\""), "{}", draft.toml);
        assert!(draft.toml.contains("\"Mean wait\" = \"result.mean_wait ms auto neither\""), "{}", draft.toml);
        assert!(draft.toml.contains("\"Data read\" = \"result.data_read MiB neither\""), "{}", draft.toml);
    }

    #[test]
    fn lines_of_one_shape_become_a_pattern() {
        let text =
            "2026-11-21 14:00:00 worker a did 15 jobs, 3 failed\n2026-11-21 14:00:10 worker b did 16 jobs, 0 failed\n";
        let draft = of(text);
        assert_eq!((draft.kind, draft.unread, draft.rows), ("lines", 0, 4), "{}", draft.toml);
        assert!(draft.toml.contains("(?<time>") && draft.toml.contains("(?<name>"), "{}", draft.toml);
    }

    #[test]
    fn documents_are_drafted_by_the_paths_of_their_values() {
        let draft = of("{\"stats\": {\"pools\": [{\"ts\": 1795269600, \"name\": \"a\", \"io\": {\"reads\": 5}}]}}\n");
        assert_eq!((draft.kind, draft.unread, draft.rows), ("JSON", 0, 1), "{}", draft.toml);
        for line in
            ["rows = \"stats.pools\"", "time = \"epoch_s\"", "\"io.reads\" = \"metric\"", "name = \"label.name\""]
        {
            assert!(draft.toml.contains(line), "{line}: {}", draft.toml);
        }
        let draft = of("{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": \"y\"}\n");
        assert_eq!((draft.kind, draft.rows), ("JSON", 2), "{}", draft.toml);
    }

    #[test]
    fn prose_and_nothing_give_no_draft() {
        for text in ["", "\n\n", "Dear all,\nplease find below what we agreed on.\n"] {
            assert!(draft("mine", text).is_none(), "{text}");
        }
    }

    #[test]
    fn every_example_of_a_format_gives_a_draft_that_works_or_none() {
        let mut drafted = 0;
        for format in crate::formats() {
            if let Some(draft) = draft("mine", format.example()) {
                drafted += 1;
                TextFormat::tried("mine", "draft", &draft.toml)
                    .unwrap_or_else(|wrong| panic!("{}: {wrong}", format.name));
            }
        }
        assert!(drafted > 60, "{drafted}");
    }
}
