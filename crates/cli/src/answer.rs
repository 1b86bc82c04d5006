//! The answer of a run as text: the bottleneck in a sentence, and what else was found in a line each.

use std::collections::BTreeSet;

use fenxi_compare::{Answer, Diagnosis, InRange, percent};
use fenxi_model::Unit;
use fenxi_query::{Engine, Found, Kind, QueryError, Scope, Severity};

use crate::{print, progress::plural};

/// Findings that stand below an answer in a line each; the others are counted.
const SHOWN: usize = 5;

/// Results of the runs of `scope`, their causes, and further findings: the order that the page of a run has. Changes
/// against another period come first, where they are asked for.
///
/// # Errors
/// When the results cannot be read.
pub fn first_screen(
    engine: &Engine,
    scope: &Scope,
    diagnosis: &Diagnosis,
    changes: Option<&InRange>,
    (width, markdown): (usize, bool),
) -> Result<String, QueryError> {
    let answer = first(diagnosis, changes);
    let others = changes.map_or_else(String::new, |changes| causes(changes, &answer, markdown));
    let blocks = [
        headline(engine, scope, width)?,
        text(&answer, width, markdown),
        others + &lines(&diagnosis.found, diagnosis.elsewhere.as_ref(), markdown),
    ];
    Ok(blocks.into_iter().filter(|block| !block.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// The answer: what changed against another period, where that gives an answer, else what was found.
pub fn first(diagnosis: &Diagnosis, changes: Option<&InRange>) -> Answer {
    changes.map_or_else(|| diagnosis.answer.clone(), |changes| changes.answer_beside(diagnosis))
}

/// Further changes against another period, a line each.
fn causes(changes: &InRange, answer: &Answer, markdown: bool) -> String {
    let bullet = if markdown { "* " } else { "  " };
    let line =
        |cause: &fenxi_compare::Cause| format!("{bullet}change: {}: {}\n", cause.title, print::visible(&cause.message));
    changes.causes.iter().filter(|cause| Some(&cause.finding) != answer.finding.as_ref()).map(line).collect()
}

/// The main results of one run: throughput and latency of a load, or elapsed time and CPU time of a command. Empty where it has
/// none, and for several runs, whose results have their own means.
fn headline(engine: &Engine, scope: &Scope, width: usize) -> Result<String, QueryError> {
    if scope.runs.as_ref().is_none_or(|runs| runs.len() != 1) {
        return Ok(String::new());
    }
    let answer = engine.ask("headline", &[], scope)?;
    let (sources, names, units) = (answer.strings("source"), answer.strings("name"), answer.strings("unit"));
    let told = answer.f64s("value").into_iter().zip(names).zip(units).zip(sources).filter_map(
        |(((value, name), unit), source)| {
            let value = Unit::from_symbol(unit.as_deref().unwrap_or_default()).human(value?);
            let source = source.map_or_else(String::new, |source| format!(" ({source})"));
            Some(format!("{} {value}{source}", name?))
        },
    );
    let mut out = String::new();
    let mut left = 0;
    for result in told {
        let n = result.chars().count() + 3;
        let between = if out.is_empty() {
            ""
        } else if n > left {
            "\n"
        } else {
            " · "
        };
        left = if between == " · " { left - n } else { width.saturating_sub(n) };
        out += between;
        out += &result;
    }
    Ok(if out.is_empty() { out } else { out + "\n" })
}

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

/// Findings without facts: a line each, the first first. `elsewhere` names those that the rest of the run has as well.
fn lines(found: &[Found], elsewhere: Option<&BTreeSet<String>>, markdown: bool) -> String {
    let loud: Vec<&Found> = found.iter().filter(|f| f.outcome.is_ok() && f.kind() != Kind::Information).collect();
    let bullet = if markdown { "* " } else { "  " };
    let line = |found: &&Found| {
        let is_elsewhere = elsewhere.is_some_and(|names| names.contains(&found.finding.name));
        let where_else = if is_elsewhere { ", as in the rest of the run" } else { "" };
        format!("{bullet}{}: {}{}{where_else}\n", found.kind(), found.finding.title, weight(found))
    };
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

/// The rules that a run could not be asked, in lines of at most `width` characters.
pub fn not_asked(sentence: Option<String>, width: usize) -> String {
    let text = sentence.map(|sentence| format!("{sentence}; `fenxi list findings RUN` has each"));
    text.map_or_else(String::new, |text| print::wrapped(&text, width).join("\n") + "\n")
}
