//! A comparison as text, for a terminal or a Markdown document.

use std::{collections::BTreeMap, ops::Range};

use fenxi_analyze::{Comparison, Line, Reason, RunSummary, Split, Verdict};
use fenxi_model::Unit;

use crate::{print, progress::plural};

/// A comparison as text.
pub struct Page {
    /// Markdown in place of aligned columns.
    pub markdown: bool,
    /// Every metric and fact, not only those that differ.
    pub all: bool,
    /// What a transaction is, where metrics are costs of one.
    pub per: Option<String>,
    /// The text.
    pub out: String,
}

/// Facts that are listed unless all are wanted.
const FEW_FACTS: usize = 20;
const HEADER: [&str; 8] = ["", "A", "B", "change", "95 % interval", "effect", "p", "verdict"];

impl Page {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn title(&mut self, text: &str) {
        let mark = if self.markdown { "### " } else { "" };
        self.line(&format!("\n{mark}{text}"));
    }

    /// Who is compared, and what speaks against it.
    pub fn head(&mut self, a: &[RunSummary], b: &[RunSummary], reasons: &[Reason]) {
        for (which, group) in [("A", a), ("B", b)] {
            let names: Vec<&str> = group.iter().map(|run| run.name.as_str()).collect();
            let text = format!("{which}: {}: {}", plural(group.len() as u64, "run"), names.join(", "));
            self.line(&text);
            self.windows(group);
        }
        for reason in reasons {
            let word = if reason.refuses { "not comparable" } else { "mind" };
            self.line(&format!("{word}: {}", reason.text));
        }
    }

    /// Which part of the runs is compared.
    fn windows(&mut self, group: &[RunSummary]) {
        let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for run in group {
            seen.entry(run.window.as_deref().unwrap_or("all of it")).or_default().push(&run.name);
        }
        if seen.keys().all(|window| *window == "all of it") {
            return;
        }
        let alike = seen.len() == 1;
        for (window, names) in seen {
            let of = if alike { String::new() } else { format!(" of {}", names.join(", ")) };
            self.line(&format!("   {window}{of}"));
        }
    }

    /// What the comparison found.
    pub fn body(&mut self, comparison: &Comparison, split: Option<&Split>) {
        let insufficient = |lines: &[Line]| lines.iter().all(|l| l.verdict == Verdict::Insufficient);
        let all_insufficient = insufficient(&comparison.metrics) && insufficient(&comparison.results);
        if all_insufficient {
            let example = comparison.metrics.iter().chain(&comparison.results).next();
            let (a, b) = example.map_or((0, 0), |line| line.compared.n);
            self.line(&format!(
                "insufficient runs: {a} and {b} cannot tell a difference from chance; what follows differs in every run"
            ));
        }
        if !comparison.results.is_empty() {
            self.title("Results");
            let lines: Vec<&Line> = comparison.results.iter().filter(|line| self.all || is_worth(line)).collect();
            self.table(&lines, |line| match line.unit {
                Unit::None if !line.word.is_empty() => format!("{}, {}", line.metric.column, line.word),
                _ => line.metric.column.clone(),
            });
        }
        self.split(split);
        let mut tables: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
        let few = all_insufficient;
        for line in comparison.metrics.iter().filter(|line| self.all || is_news(line, few)) {
            tables.entry(&line.metric.table).or_default().push(line);
        }
        if tables.is_empty() {
            let n = plural(comparison.metrics.len() as u64, "metric");
            self.line(&format!("\nNone of {n} surely differs by more than the margin."));
        }
        let per = self.per.is_some();
        for (table, mut lines) in tables {
            lines.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
            match &self.per {
                Some(_) => self.title(&format!("{table}, per transaction")),
                None => self.title(table),
            }
            self.table(&lines, |line| format!("{}{}", name_of(line, per), of_key(&line.metric.key)));
        }
        self.facts(comparison);
    }

    /// A change of time, as the sum of the changes of its parts.
    fn split(&mut self, split: Option<&Split>) {
        let Some(split) = split else { return };
        let whole = split.means.1 - split.means.0;
        self.title(&format!("Where the {} went", if split.what == "elapsed" { "elapsed time" } else { split.what }));
        let show = |value: f64| split.unit.human(value).to_string();
        let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, show(value));
        let row = |name: &str, (a, b): (f64, f64)| {
            let share = if whole == 0.0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * (b - a) / whole) };
            vec![name.to_owned(), show(a), show(b), signed(b - a), share]
        };
        let mut rows: Vec<Vec<String>> = split.parts.iter().map(|part| row(part.name, part.means)).collect();
        rows.push(row(split.what, split.means));
        self.rows(&["", "A", "B", "change", "of the change"], 1..5, &rows);
    }

    fn table(&mut self, lines: &[&Line], name: impl Fn(&Line) -> String) {
        let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line, name(line))).collect();
        self.rows(&HEADER, 1..7, &rows);
    }

    /// A table whose columns `right` hold numbers.
    fn rows(&mut self, header: &[&str], right: Range<usize>, rows: &[Vec<String>]) {
        if !self.markdown {
            self.out.push_str(&print::columns(header, &right.collect::<Vec<_>>(), rows));
            return;
        }
        self.line(&format!("| {} |", header.join(" | ")));
        let rule = |column: usize| if right.contains(&column) { "---:" } else { "---" };
        self.line(&format!("|{}|", (0..header.len()).map(rule).collect::<Vec<_>>().join("|")));
        rows.iter().for_each(|row| self.line(&format!("| {} |", row.join(" | "))));
    }

    fn facts(&mut self, comparison: &Comparison) {
        if comparison.facts.is_empty() {
            return;
        }
        self.title("Facts that differ");
        let shown = if self.all { comparison.facts.len() } else { FEW_FACTS };
        let word = |value: &Option<String>| {
            let text = value.as_deref().map_or("-".to_owned(), |v| v.lines().collect::<Vec<_>>().join(" "));
            print::cut(&text, 40).into_owned()
        };
        let rows: Vec<Vec<String>> = comparison
            .facts
            .iter()
            .take(shown)
            .map(|fact| vec![format!("{} {}", fact.topic, fact.name), word(&fact.values.0), word(&fact.values.1)])
            .collect();
        self.rows(&["", "A", "B"], 0..0, &rows);
        if comparison.facts.len() > shown {
            self.line(&format!("and {} more (--all)", comparison.facts.len() - shown));
        }
    }
}

/// Whether a result is worth a line: it was not 0 throughout.
fn is_worth(line: &Line) -> bool {
    line.compared.means != (0.0, 0.0)
}

/// Whether a metric is worth a line: it differs, or where `few` runs make that unknowable, it does in
/// every run.
fn is_news(line: &Line, few: bool) -> bool {
    match line.verdict {
        Verdict::Worse | Verdict::Better | Verdict::Different => true,
        Verdict::Insufficient => few && line.compared.effect.abs() >= 1.0 && line.compared.change.value.abs() > 0.05,
        Verdict::Same | Verdict::Unclear => false,
    }
}

/// How much a difference matters: good and bad before neither, then by its size.
fn weight(line: &Line) -> f64 {
    let judged = if matches!(line.verdict, Verdict::Worse | Verdict::Better) { 1e6 } else { 0.0 };
    let (a, b) = line.compared.means;
    let fold = if a * b > 0.0 { (b / a).ln().abs() } else { 10.0 };
    judged + fold
}

/// A rate divided by the rate of transactions is no longer one per second.
fn name_of(line: &Line, per: bool) -> &str {
    let name = line.metric.column.as_str();
    if per { name.strip_suffix("_per_s").unwrap_or(name) } else { name }
}

fn of_key(key: &str) -> String {
    let values: Vec<&str> = key.split(',').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value).collect();
    if values.is_empty() { String::new() } else { format!(" of {}", values.join(" ")) }
}

fn cells(line: &Line, name: String) -> Vec<String> {
    let compared = &line.compared;
    let difference = |value: f64| {
        if compared.is_relative {
            format!("{:+.1} %", 100.0 * value)
        } else {
            let sign = if value > 0.0 { "+" } else { "" };
            format!("{sign}{}", line.unit.human(value))
        }
    };
    let interval = compared.change.interval;
    vec![
        name,
        line.unit.human(compared.means.0).to_string(),
        line.unit.human(compared.means.1).to_string(),
        difference(compared.change.value),
        interval.map_or("-".to_owned(), |i| format!("{} … {}", difference(i.low), difference(i.high))),
        format!("{:+.2}", compared.effect),
        match line.p {
            p if p.is_nan() => "-".to_owned(),
            p if p < 0.001 => "<0.001".to_owned(),
            p => format!("{p:.3}"),
        },
        line.verdict.words().to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::of_key;

    #[test]
    fn keys_are_named_by_their_values() {
        assert_eq!(
            (of_key("device=sda"), of_key("irq=3,cpu=0"), of_key("")),
            (" of sda".into(), " of 3 0".into(), String::new())
        );
    }
}
