//! The answer of a run as text: the bottleneck in a sentence, and what else was found in a line each.

use fenxi_compare::{Answer, percent};
use fenxi_query::{Found, Kind, Severity};

use crate::{print, progress::plural};

/// Findings that stand below an answer in a line each; the others are counted.
const SHOWN: usize = 5;

/// The sentence and what is behind it, in lines of at most `width` characters.
pub fn text(answer: &Answer, width: usize, markdown: bool) -> String {
    let mark = if markdown { "**" } else { "" };
    let lines = |text: &str| print::wrapped(text, width).into_iter().map(|line| line + "\n").collect::<String>();
    let mut out = lines(&format!("{mark}{}{mark}", answer.text));
    if !answer.detail.is_empty() {
        out += if markdown { "\n" } else { "" };
        out += &lines(&answer.detail);
    }
    out
}

/// What was found, without facts: a line each, the first first.
pub fn lines(found: &[Found], markdown: bool) -> String {
    let loud: Vec<&Found> = found.iter().filter(|f| f.outcome.is_ok() && f.kind() != Kind::Information).collect();
    let bullet = if markdown { "* " } else { "  " };
    let line = |found: &&Found| format!("{bullet}{}: {}{}\n", found.kind(), found.finding.title, weight(found));
    let mut out: String = loud.iter().take(SHOWN).map(line).collect();
    if loud.len() > SHOWN {
        out += &format!("{bullet}and {} more: `fenxi findings`\n", loud.len() - SHOWN);
    }
    out
}

/// How bad it is and how much it accounts for, in brackets; nothing for a fact.
pub fn weight(found: &Found) -> String {
    let critical = (found.severity() == Severity::Critical).then(|| "critical".to_owned());
    let share = found.impact().map(|i| format!("{} of {}", percent(i.share), i.of));
    let told: Vec<String> = critical.into_iter().chain(share).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

/// Findings of a kind and their number.
pub fn heading(kind: Kind, number: usize) -> String {
    match kind {
        Kind::Problem => plural(number as u64, "problem"),
        Kind::Symptom => plural(number as u64, "symptom"),
        Kind::Measurement => format!("{} about the measurement", plural(number as u64, "finding")),
        Kind::Information => format!("{} for information", plural(number as u64, "finding")),
    }
}
