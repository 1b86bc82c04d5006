//! A comparison as text, for a terminal or a Markdown document.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use fenxi_analyze::{Centre, Verdict};
use fenxi_compare::{Comparison, FactDiff, Group, Line, SideBySide, Split, change, range_words, run_names, sign_of};
use fenxi_model::Unit;

use crate::{parts, print, progress::plural};

/// A comparison as text.
#[derive(Debug, Default)]
pub struct Page {
    /// Markdown in place of aligned columns.
    pub markdown: bool,
    /// Every metric and fact, not only those that differ.
    pub all: bool,
    /// Whether metrics are costs of a transaction.
    pub per: bool,
    /// Columns of the terminal, where there is one.
    pub width: Option<usize>,
    /// Columns that had no room there.
    pub left_out: BTreeSet<String>,
    /// The text.
    pub out: String,
}

/// Facts that are listed unless all are wanted.
const FEW_FACTS: usize = 20;
/// Characters of a fact that has its place in a table.
const SHORT_FACT: usize = 48;
const HEADER: [&str; 8] = ["", "A", "B", "change", "95 % interval", "effect", "p", "verdict"];
/// Of lines that too few runs have for any test.
const FEW_HEADER: [&str; 7] = ["", "A", "A min … max", "B", "B min … max", "change", "verdict"];

impl Page {
    fn line(&mut self, text: &str) {
        let width = self.width.filter(|width| !self.markdown && text.chars().count() > *width);
        match width {
            None => self.out.push_str(text),
            // Continuation lines are indented below the first line.
            Some(width) => self.out.push_str(&print::wrapped(text, width.saturating_sub(2)).join("\n  ")),
        }
        self.out.push('\n');
    }

    fn title(&mut self, text: &str) {
        let mark = if self.markdown { "### " } else { "" };
        self.line(&format!("\n{mark}{text}"));
    }

    /// The headline.
    pub fn headline(&mut self, found: &SideBySide<'_>) {
        let Some(headline) = &found.headline else { return };
        let mark = if self.markdown { "**" } else { "" };
        self.line(&print::visible(&format!("{mark}{}{mark}", headline.text)));
        self.line("");
    }

    /// Who is compared, and what speaks against it.
    pub fn head(&mut self, found: &SideBySide<'_>) {
        for (which, group) in [("A", found.a), ("B", found.b)] {
            let names = run_names(group.runs.iter().map(|run| run.name.as_str()));
            // Names that are all alike are less useful than the selector.
            let chosen = if names.contains(" × ") { format!(" of {}", group.title) } else { String::new() };
            let text = format!("{which}: {}{chosen}: {names}", plural(group.runs.len() as u64, "run"));
            self.line(&print::visible(&text));
            self.windows(group);
        }
        for change in &found.changed {
            let value = |value: &Option<String>| print::cut(value.as_deref().unwrap_or("none"), 80).into_owned();
            self.line(&print::visible(&format!(
                "changed: {} {} → {}",
                change.name,
                value(&change.from),
                value(&change.to)
            )));
        }
        for reason in &found.reasons {
            let word = if reason.refuses { "not comparable" } else { "warning" };
            self.line(&format!("{word}: {}", print::visible(&reason.text)));
        }
    }

    /// Which part of the runs is compared.
    fn windows(&mut self, group: &Group) {
        let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for run in &group.runs {
            seen.entry(run.window.as_deref().unwrap_or("all of it")).or_default().push(&run.name);
        }
        if seen.keys().all(|window| *window == "all of it") {
            return;
        }
        let alike = seen.len() == 1;
        for (window, names) in seen {
            let of = if alike { String::new() } else { format!(" of {}", run_names(names)) };
            self.line(&print::visible(&format!("   {window}{of}")));
        }
    }

    /// The findings of the comparison.
    pub fn body(&mut self, comparison: Comparison, split: Option<&Split>) {
        if let Some(insufficient) = &comparison.insufficient {
            self.line(&format!("{insufficient}; listed are metrics whose ranges do not overlap"));
        }
        let n_metrics = plural(comparison.metrics.len() as u64, "metric");
        let shown = if self.all { comparison } else { comparison.only_news() };
        if !shown.results.is_empty() {
            self.title("Results");
            self.table(&shown.results, |line| match line.measure() {
                Unit::None if !line.unit.is_empty() => format!("{}, {}", line.column, line.unit),
                _ => line.column.clone(),
            });
        }
        self.split(split);
        if shown.metrics.is_empty() {
            self.line(&format!("\nNone of {n_metrics} differs significantly by more than the margin."));
        }
        let per = self.per;
        for lines in shown.metrics.chunk_by(|one, next| one.table == next.table) {
            let suffix = if per { ", per transaction" } else { "" };
            self.title(&print::visible(&format!("{}{suffix}", lines[0].table)));
            self.table(lines, |line| format!("{}{}", name_of(line, per), of_key(&line.key)));
        }
        self.facts(&shown.facts);
        if let Some(note) = print::left_out(&self.left_out.iter().cloned().collect::<Vec<_>>()) {
            self.line(&format!("\n{note}"));
        }
    }

    /// A change of time, as the sum of the changes of its parts.
    fn split(&mut self, split: Option<&Split>) {
        let Some(split) = split else { return };
        self.title(&parts::title(split));
        let table = parts::of_two(split);
        self.rows(&table.header, 1..table.header.len() - 1, parts::SPARE_OF_TWO, &table.rows);
        if !split.notes.is_empty() {
            self.line("");
        }
        for note in &split.notes {
            let bullet = if self.markdown { "* " } else { "" };
            self.line(&format!("{bullet}{}", print::visible(note)));
        }
    }

    fn table(&mut self, lines: &[Line], name: impl Fn(&Line) -> String) {
        if lines.iter().all(|line| line.verdict == Verdict::Insufficient) {
            let rows: Vec<Vec<String>> = lines.iter().map(|line| few_cells(line, name(line))).collect();
            return self.rows(&FEW_HEADER, 1..6, &[4, 2], &rows);
        }
        let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line, name(line))).collect();
        self.rows(&HEADER, 1..7, &[5, 4, 6], &rows);
    }

    /// A table whose columns `right` hold numbers.
    fn rows(&mut self, header: &[&str], right: Range<usize>, spare: &[usize], rows: &[Vec<String>]) {
        if self.markdown {
            self.out.push_str(&print::markdown_table(header, right, rows));
            return;
        }
        let listed = print::fitted(header, &right.collect::<Vec<_>>(), spare, rows, self.width);
        self.out.push_str(&listed.text);
        self.left_out.extend(listed.left_out);
    }

    /// Short facts side by side, long ones line by line.
    fn facts(&mut self, facts: &[FactDiff]) {
        if facts.is_empty() {
            return;
        }
        self.title("Facts that differ");
        let shown = &facts[..if self.all { facts.len() } else { facts.len().min(FEW_FACTS) }];
        let (short, long): (Vec<&FactDiff>, Vec<&FactDiff>) = shown.iter().partition(|fact| is_short(fact));
        if !short.is_empty() {
            let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            let row = |fact: &&FactDiff| {
                let [a, b] = &fact.values;
                vec![format!("{} {}", fact.topic, fact.name), word(a), word(b)]
            };
            self.rows(&["", "A", "B"], 0..0, &[], &short.iter().map(row).collect::<Vec<_>>());
        }
        for fact in long {
            self.long_fact(fact);
        }
        if facts.len() > shown.len() {
            self.line(&format!("and {} more (--all)", facts.len() - shown.len()));
        }
    }

    fn long_fact(&mut self, fact: &FactDiff) {
        let nowhere = match &fact.values {
            [None, _] => " (not in A)",
            [_, None] => " (not in B)",
            _ => "",
        };
        self.line(&format!("\n{}{nowhere}", print::visible(&format!("{} {}", fact.topic, fact.name))));
        let indent = if self.markdown { "" } else { "  " };
        if self.markdown {
            self.line("```diff");
        }
        for line in &fact.lines {
            // Equal lines are marked as in other programs' differences, which Markdown colours.
            let sign = sign_of(line.op).replace('=', " ");
            self.line(&format!("{indent}{sign} {}", print::visible(&line.text)));
        }
        if self.markdown {
            self.line("```");
        }
    }
}

/// Whether a fact has room in a cell in both groups.
fn is_short(fact: &FactDiff) -> bool {
    let fits = |text: &String| text.lines().count() <= 1 && text.chars().count() <= SHORT_FACT;
    fact.values.iter().flatten().all(fits)
}

/// A rate divided by the rate of transactions is no longer one per second.
fn name_of(line: &Line, per: bool) -> &str {
    let name = line.column.as_str();
    if per { name.strip_suffix("_per_s").unwrap_or(name) } else { name }
}

fn of_key(key: &str) -> String {
    let values: Vec<&str> = key.split(',').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value).collect();
    if values.is_empty() { String::new() } else { format!(" of {}", values.join(" ")) }
}

fn cells(line: &Line, name: String) -> Vec<String> {
    let [a, b] = line.means.map(|mean| line.measure().human(mean).to_string());
    let interval = line.interval.map(|[low, high]| format!("{} … {}", change(line, low), change(line, high)));
    let p = match line.p {
        None => "-".to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    };
    let interval = interval.unwrap_or_else(|| "-".to_owned());
    let effect = format!("{:+.2}", line.effect);
    let name = if line.centre == Centre::Median { format!("{name} (medians)") } else { name };
    vec![name, a, b, change(line, line.change), interval, effect, p, line.verdict.words().to_owned()]
}

fn few_cells(line: &Line, name: String) -> Vec<String> {
    let unit = line.measure();
    let [a, b] = line.means.map(|mean| unit.human(mean).to_string());
    let [range_a, range_b] = line.ranges.map(|range| range_words(range, unit));
    vec![name, a, range_a, b, range_b, change(line, line.change), line.verdict.words().to_owned()]
}

#[cfg(test)]
mod tests {
    use fenxi_compare::{DiffLine, FactDiff, Op};

    use super::{Page, of_key};

    #[test]
    fn keys_are_named_by_their_values() {
        assert_eq!(
            (of_key("device=sda"), of_key("irq=3,cpu=0"), of_key("")),
            (" of sda".into(), " of 3 0".into(), String::new())
        );
    }

    #[test]
    fn short_facts_stand_side_by_side_and_long_ones_line_by_line() {
        let fact = |name: &str, a: &str, b: Option<&str>, lines: &[(Op, &str)]| FactDiff {
            topic: "kernel".to_owned(),
            name: name.to_owned(),
            lines: lines.iter().map(|(op, text)| DiffLine { op: *op, text: (*text).to_owned() }).collect(),
            values: [Some(a.to_owned()), b.map(str::to_owned)],
        };
        let facts = [
            fact("release", "6.17", Some("6.18"), &[(Op::Removed, "6.17"), (Op::Added, "6.18")]),
            fact("modules", &"x ".repeat(40), Some("y"), &[(Op::Equal, "… 38 words …"), (Op::Removed, "x")]),
            fact("gone", "a\nb", None, &[(Op::Removed, "a"), (Op::Removed, "b")]),
        ];
        let shown = |markdown: bool| {
            let mut page = Page { markdown, ..Page::default() };
            page.facts(&facts);
            page.out
        };
        let text = "\nFacts that differ\n                A     B\nkernel release  6.17  6.18\n\nkernel modules\n    … 38 words …\n  - x\n\n\
                    kernel gone (not in B)\n  - a\n  - b\n";
        assert_eq!(shown(false), text);
        assert!(shown(true).ends_with("\nkernel gone (not in B)\n```diff\n- a\n- b\n```\n"), "{}", shown(true));
    }
}
