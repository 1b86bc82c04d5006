//! Headers and the rows below them.

use std::collections::BTreeSet;

use super::{Sketch, key, may_be, quoted, slug, unique};
use crate::{civil_time, number, scaled};

/// Tables of one draft.
const MOST: usize = 8;
/// Rows below a header that are looked at.
const ROWS: usize = 50;
/// Values that a comment repeats.
const SHOWN: usize = 3;

/// A header and the rows below it.
struct Found<'l> {
    words: Vec<String>,
    rows: Vec<Vec<&'l str>>,
    lines: Vec<&'l str>,
}

/// `[[table]]` for each header of a text.
pub(super) fn sketch(lines: &[&str]) -> Option<Sketch> {
    let mut found: Vec<Found<'_>> = Vec::new();
    for at in 0..lines.len() {
        let Some(table) = header(&lines[at..]) else { continue };
        if found.len() < MOST && found.iter().all(|known| known.words != table.words) {
            found.push(table);
        }
    }
    let first = found.first()?;
    let words = first.words.join(" ");
    // A time in front of a row is no word of it, and words of one title are several of a header's.
    let timed = first.rows.iter().all(|row| is_time(row[0]));
    let below = !timed && first.words.iter().all(|word| !word.contains(' '));
    let recognise = format!("header = {}\n{}", quoted(&words), if below { "row_below = true\n" } else { "" });
    let example = first.lines.iter().map(|line| (*line).to_owned()).collect();
    let mut rest = String::from(
        "\n# ? How times are known: `command = \"mytool\"` reads the interval from `mytool 5`; `moments = true` where each\n\
         # output is of a moment; `since_boot = \"first\"` where the first report is an average since boot.\n[report]\n",
    );
    found.iter().for_each(|table| rest.push_str(&table.toml()));
    Some(Sketch { kind: "tables", recognise, rest, example })
}

/// The header that the first line is, if it is one, and its rows.
fn header<'l>(lines: &[&'l str]) -> Option<Found<'l>> {
    let (first, below) = lines.split_first()?;
    let is_rule = |line: &&&str| line.trim().is_empty() || line.trim().chars().all(|c| "-=+| ".contains(c));
    let below: Vec<&'l str> = below.iter().skip_while(is_rule).copied().collect();
    let fields = |line: &'l str| line.split_whitespace().collect::<Vec<_>>();
    let row = fields(below.first()?);
    let words = words(first, row.len())?;
    let is_row = |row: &Vec<&str>| row.len() == words.len() && row.iter().any(|value| is_number(value));
    let rows: Vec<Vec<&str>> = below.iter().map(|line| fields(line)).take_while(is_row).take(ROWS).collect();
    if rows.is_empty() {
        return None;
    }
    let shown = std::iter::once(*first).chain(below.iter().take(rows.len()).copied()).collect();
    Some(Found { words, rows, lines: shown })
}

/// The words of a header above `columns` columns: each word, or what two blanks stand between.
fn words(line: &str, columns: usize) -> Option<Vec<String>> {
    let single: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let words = if single.len() == columns {
        single
    } else {
        let parts = line.trim().replace('\t', "  ");
        parts.split("  ").map(str::trim).filter(|word| !word.is_empty()).map(squeezed).collect()
    };
    let names = words.iter().filter(|word| word.chars().any(char::is_alphabetic) && !is_number(word)).count();
    (words.len() == columns && columns >= 3 && names == columns).then_some(words)
}

/// A time of day.
fn is_time(value: &str) -> bool {
    value.contains(':') && civil_time(value, None).is_some()
}

/// The unit of times that a word ends in: `wait_ms`, `lat(us)`.
fn unit_in(word: &str) -> Option<&'static str> {
    let end = word.trim_end_matches([')', ']']).rsplit(['_', '(', '[', '/', ' ']).next().unwrap_or_default();
    ["ns", "us", "ms"].into_iter().find(|unit| *unit == end && end.len() < word.len())
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_number(text: &str) -> bool {
    number(text.trim_end_matches('%')).is_some()
        || text.starts_with(|c: char| c.is_ascii_digit()) && scaled(text, 1024.0).is_some()
}

impl Found<'_> {
    fn toml(&self) -> String {
        // Words that other tables of the text may have too are no harm: the first header that fits is taken.
        let header: Vec<&str> = self.words.iter().flat_map(|word| word.split(' ')).collect();
        let mut toml = format!("\n[[table]]\nheader = {}\n\n[table.columns]\n", quoted(&header.join(" ")));
        let mut done: BTreeSet<&str> = BTreeSet::new();
        let mut labels = BTreeSet::new();
        for word in &self.words {
            if !done.insert(word) {
                continue;
            }
            let places: Vec<usize> = (0..self.words.len()).filter(|at| self.words[*at] == *word).collect();
            let (goals, comment) = self.goals(word, &places, &mut labels);
            let goals = match goals.as_slice() {
                [one] => quoted(one),
                more => format!("[{}]", more.iter().map(|goal| quoted(goal)).collect::<Vec<_>>().join(", ")),
            };
            toml.push_str(&format!("{} = {goals}    # {comment}\n", key(word)));
        }
        toml
    }

    /// Where the values below a word go, one for each time that the word comes, and what is to be decided.
    fn goals(&self, word: &str, places: &[usize], labels: &mut BTreeSet<String>) -> (Vec<String>, String) {
        let values: Vec<&str> = self.rows.iter().map(|row| row[places[0]]).collect();
        let shown: Vec<&str> = values.iter().take(SHOWN).copied().collect();
        let shown = shown.join(", ").chars().filter(|c| !c.is_control()).collect::<String>();
        let missing = |value: &&str| matches!(*value, "-" | "N/A" | "n/a" | "--" | "NULL");
        let told: Vec<&str> = values.iter().filter(|value| !missing(value)).copied().collect();
        if !told.is_empty() && told.iter().all(|value| is_time(value)) {
            return (vec!["time".to_owned()], "the time of day".to_owned());
        }
        if !told.is_empty() && !told.iter().all(|value| is_number(value)) {
            let label = unique(slug(word).trim_start_matches('_').to_owned(), labels);
            let label = if label.is_empty() { "name".to_owned() } else { label };
            let goal = if places.len() == 1 { format!("label.{label}") } else { "skip".to_owned() };
            let comment = format!("? {shown}: a label, or the key of a row: \"disk.device\", \"net.interface\" …");
            return (vec![goal; places.len()], comment);
        }
        let percent = word.contains('%') || told.iter().any(|value| value.ends_with('%'));
        let unit = match unit_in(word) {
            Some(unit) => format!(" {unit}"),
            None if percent => " %".to_owned(),
            None => String::new(),
        };
        let name = |nth: usize| if places.len() == 1 { String::new() } else { format!(".{}{}", slug(word), nth + 1) };
        let goals = (0..places.len()).map(|nth| format!("metric{}{unit}", name(nth))).collect();
        let candidates = may_be(word);
        let may = if candidates.is_empty() { String::new() } else { format!("; {}?", candidates.join(" or ")) };
        (goals, format!("? {shown}: its unit{may}"))
    }
}
