//! Outputs as people print them in articles, tickets and mails: the page `docs/outputs.md` has what each gives.

use std::path::Path;

use super::{Head, Hints, Input, detect, fixtures::read_with};
use fenxi_model::Micros;

/// The page with a row for each output, which links to its text.
const PAGE: &str = "docs/outputs.md";
/// Beginning of the link of a row.
const FOLDER: &str = "../crates/formats/fixtures/printed/";

/// Result of an output, as the cells of its row: its format, rows by table, those since boot, and notes.
fn cells(bytes: &[u8]) -> String {
    let head = Input::new(bytes).head().into_owned();
    let Some(format) = detect(&Head { text: &head }) else { return "none | | | ".to_owned() };
    let modified = Micros::parse("2026-01-02T03:04:05");
    let tally =
        read_with(format, bytes, Hints { modified, default_host: "db1".to_owned(), ..Hints::none("file") }).tally;
    let rows: Vec<String> = tally.tables.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let some = |n: u64| if n > 0 { n.to_string() } else { String::new() };
    format!("{} | {} | {} | {}", format.name, rows.join(", "), some(tally.boot_rows), some(tally.notes))
}

#[test]
fn printed_outputs_give_what_the_page_says() {
    let root = Path::new("../..");
    let page = fs_err::read_to_string(root.join(PAGE)).unwrap();
    let (mut wrong, mut told) = (Vec::new(), Vec::new());
    for line in page.lines().filter(|line| line.starts_with("| [")) {
        let (_, rest) = line.split_once(FOLDER).unwrap();
        let (file, said) = rest.split_once(") | ").unwrap();
        let gives = cells(&fs_err::read(root.join("docs").join(FOLDER).join(file)).unwrap());
        let said = said.trim_end_matches('|').trim_end();
        if said != gives.trim_end() {
            wrong.push(format!("{file}\n  doc:   {said}\n  gives: {gives}"));
        }
        told.push(file.to_owned());
    }
    for entry in fs_err::read_dir(root.join("docs").join(FOLDER)).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !told.contains(&name) {
            wrong.push(format!("{name} is not on the page"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
