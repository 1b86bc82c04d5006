//! Every format against its fixtures: `fixtures/<format>/*`, each beside a `.rows` file with
//! the rows it must give. `FENXI_UPDATE=1` writes these; read them before they are committed.

use std::{fmt::Write, path::PathBuf};

use fenxi_model::{Micros, Rows, TableRows, Type};

use super::{AnyFormat, Format, Head, Hints, Input, Out, Tally, detect, detect_all, formats, overrun};

/// Result of reading a text, as text: table by table, one line a row.
pub(crate) struct Read {
    pub(crate) text: String,
    pub(crate) tally: Tally,
}

/// Reads `bytes` as `format` under the hints of all fixtures.
pub(crate) fn read(format: &'static Format, bytes: &[u8]) -> Read {
    let modified = Micros::parse("2026-01-02T03:04:05");
    read_with(format, bytes, Hints { modified, default_host: "fixture".to_owned(), ..Hints::none("file") })
}

pub(crate) fn read_with(format: &'static Format, bytes: &[u8], hints: Hints) -> Read {
    read_any(&format.into(), bytes, hints)
}

/// The same for a format of either kind.
pub(crate) fn read_any(format: &AnyFormat, bytes: &[u8], hints: Hints) -> Read {
    let mut text = String::new();
    let overrun_s = overrun(format, &mut Input::new(bytes), &hints);
    let tally =
        pass(format, bytes, Hints { overrun_s: Some(overrun_s), ..hints }, |rows, boot| render(rows, boot, &mut text));
    Read { text, tally }
}

/// Hands the rows that `bytes` give to `take`.
fn pass(format: &AnyFormat, bytes: &[u8], hints: Hints, take: impl FnMut(&mut Rows, bool)) -> Tally {
    let mut input = Input::new(bytes);
    let mut out = Out::new(format.name(), hints, take);
    format.read(&mut input, &mut out);
    out.finish()
}

/// Takes all rows out as text.
fn render(rows: &mut Rows, boot: bool, text: &mut String) {
    let mark = if boot { " since boot" } else { "" };
    for table in rows.tables() {
        let columns = table.table().columns;
        let set: Vec<usize> =
            (0..columns.len()).filter(|p| (0..table.n_rows()).any(|r| !cell(table, r, *p).is_empty())).collect();
        let names: Vec<_> = set.iter().map(|p| columns[*p].name).collect();
        let _ = writeln!(text, "# {}{mark}\n{}", table.table().name, names.join("\t"));
        for row in 0..table.n_rows() {
            let cells: Vec<_> = set.iter().map(|p| cell(table, row, *p)).collect();
            let _ = writeln!(text, "{}", cells.join("\t"));
        }
    }
    for table in rows.tables_mut() {
        table.take();
    }
}

fn cell(table: &TableRows, row: usize, place: usize) -> String {
    match table.table().columns[place].ty {
        Type::Time => table.micros(row, place).map_or(String::new(), |t| t.iso()),
        Type::F64 | Type::I64 => table.f64(row, place).map_or(String::new(), short),
        _ => table.str(row, place).unwrap_or("").replace(['\t', '\n'], " "),
    }
}

/// The number to 12 significant digits, so that the last bit of a product does not matter.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    rounded.to_string()
}

fn folder() -> PathBuf {
    PathBuf::from("fixtures")
}

/// All fixtures: the format, the file's name and its bytes.
pub(crate) fn fixtures() -> Vec<(&'static Format, PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for format in formats() {
        let mut files: Vec<_> = fs_err::read_dir(folder().join(format.name))
            .unwrap_or_else(|e| panic!("every format has fixtures: {e}"))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_none_or(|e| e != "rows"))
            .collect();
        assert!(!files.is_empty(), "{} has no fixture", format.name);
        files.sort();
        all.extend(files.into_iter().map(|path| {
            let bytes = fs_err::read(&path).unwrap();
            (format, path, bytes)
        }));
    }
    all
}

#[test]
fn every_fixture_is_recognised_and_gives_its_rows() {
    let update = std::env::var_os("FENXI_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (format, path, bytes) in fixtures() {
        let name = path.strip_prefix(folder()).unwrap().display().to_string();
        let input = Input::new(&bytes[..]);
        let head = input.head();
        let found = detect(&Head { text: &head }).map(|f| f.name);
        let surest = detect_all(&Head { text: &head }).first().map(|(_, f)| f.name);
        assert_eq!(found, surest, "{name}: not every format is asked, and none that is surer is left out");
        if found != Some(format.name) {
            let claims: Vec<_> = detect_all(&Head { text: &head }).iter().map(|(s, f)| (*s, f.name)).collect();
            wrong.push(format!("{name}: recognised as {found:?} ({claims:?})"));
        }
        let read = read(format, &bytes);
        if read.tally.rows() + read.tally.boot_rows == 0 {
            wrong.push(format!("{name}: no rows"));
        }
        if read.tally.notes > 0 && !name.contains("note") {
            let notes = read.text.split("# note").nth(1).unwrap_or("");
            wrong.push(format!("{name}: {} could not be read:{}", read.tally.notes, &notes[..notes.len().min(400)]));
        }
        for (table, _) in &read.tally.tables {
            let told = format.tables().iter().any(|t| t.name == *table);
            if !told && !matches!(*table, "metric" | "event" | "text" | "result") {
                wrong.push(format!("{name}: fills {table}, which the format does not declare"));
            }
        }
        let mut rows = path.clone().into_os_string();
        rows.push(".rows");
        if update {
            fs_err::write(&rows, &read.text).unwrap();
        } else if fs_err::read_to_string(&rows).unwrap_or_default() != read.text {
            wrong.push(format!(
                "{name}: other rows than in its .rows file (FENXI_UPDATE=1 writes it; look at the difference)"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn names_are_unique_and_examples_are_their_own() {
    let mut seen = std::collections::BTreeSet::new();
    for format in formats() {
        assert!(seen.insert(format.name), "{} twice", format.name);
        assert!(!format.name.contains('_') && format.summary().len() > 10, "{}", format.name);
        assert_eq!(detect(&Head { text: format.example() }).map(|f| f.name), Some(format.name), "its example");
    }
}

/// Whatever happened to a file, reading it ends, without a panic.
#[test]
fn damaged_fixtures_are_read_without_a_panic() {
    for (format, _, bytes) in fixtures() {
        let step = (bytes.len() / 60).max(1);
        for cut in (0..bytes.len()).step_by(step) {
            read(format, &bytes[..cut]);
            read(format, &bytes[cut..]);
            let mut changed = bytes.clone();
            changed[cut] = changed[cut].wrapping_mul(31).wrapping_add(cut as u8);
            read(format, &changed);
        }
        // Another format's text, lines in a wrong order, and nothing at all.
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
        lines.reverse();
        read(format, &lines.concat());
        read(format, b"");
        read(format, &[0u8; 5000]);
    }
}

#[test]
fn every_format_survives_every_other_formats_text() {
    let mut all = fixtures();
    all.dedup_by_key(|(format, _, _)| format.name);
    let hints = Hints { default_host: "fixture".to_owned(), ..Hints::none("file") };
    for format in formats() {
        for (_, _, bytes) in &all {
            let drop_them = |rows: &mut Rows, _| rows.tables_mut().for_each(|table| drop(table.take()));
            pass(&format.into(), &bytes[..bytes.len().min(6000)], hints.clone(), drop_them);
        }
    }
}

/// Outputs of real tools that are not part of the project: where they are present, every one is
/// recognised and leaves no note. `FENXI_CORPUS` names the folders, separated by colons; without it,
/// `shared/` beside the repository is looked at.
#[test]
#[allow(clippy::print_stderr, reason = "a skipped test prints it")]
fn the_corpus_is_read_without_notes() {
    let beside = ["corpus", "reference/synthetic", "reference/nicstat-capture"]
        .map(|name| PathBuf::from("../../../shared").join(name));
    let named = std::env::var_os("FENXI_CORPUS");
    let folders = named.map_or_else(|| beside.to_vec(), |list| std::env::split_paths(&list).collect());
    let present: Vec<_> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    if present.is_empty() {
        eprintln!("SKIPPED the corpus: FENXI_CORPUS names no folder of tool outputs");
        return;
    }
    let wrong: Vec<String> = present.iter().flat_map(|folder| corpus_folder(folder)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Errors of the imports of the files in `folder`.
fn corpus_folder(folder: &std::path::Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("README") || path.is_dir() {
            continue;
        }
        let bytes = fs_err::read(&path).unwrap();
        let input = Input::new(&bytes[..]);
        let Some(format) = detect(&Head { text: &input.head() }) else {
            wrong.push(format!("{name}: not recognised"));
            continue;
        };
        let read = read(format, &bytes);
        if read.tally.notes > 0 || read.tally.rows() + read.tally.boot_rows == 0 {
            let notes: String = read.text.split("# note").nth(1).unwrap_or("").chars().take(600).collect();
            wrong.push(format!("{name} ({}): {:?}\n{notes}", format.name, read.tally));
        }
    }
    wrong
}
