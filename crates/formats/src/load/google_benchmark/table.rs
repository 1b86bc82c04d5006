//! The console's table of Google Benchmark.

use super::{Run, aggregate, failed, unit};
use crate::{Input, Out, load::repeats::Repeats, number, scaled};

#[derive(Default)]
struct Reader {
    repeats: Repeats,
    /// Counters that have columns.
    columns: Vec<String>,
}

/// Reads a table, of which `head` is the beginning.
pub fn read(input: &mut Input<'_>, head: &str, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if !line.is_empty() && !reader.line(line, head, out) {
            out.unknown(number, line, "no line of Google Benchmark");
        }
    }
}

impl Reader {
    fn line(&mut self, line: &str, head: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let ["Benchmark", "Time", "CPU", "Iterations", counters @ ..] = &words[..] {
            let tabular = counters.iter().filter(|c| **c != "UserCounters...");
            self.columns = tabular.map(|c| (*c).to_owned()).collect();
            return true;
        }
        if let Some((name, message)) = line.split_once("ERROR OCCURRED: ").or_else(|| line.split_once("SKIPPED: ")) {
            failed(name.trim(), message.trim_matches('\''), out);
            return true;
        }
        let Some((name, figures)) = figures(&words) else { return context(line, out) };
        let mut run = Run { name, ..Run::default() };
        let known = |base: &str| self.repeats.has(base) || head.contains(&format!("{base}_stddev "));
        let found = aggregate(&run.name, known).map(|(base, of)| (base.to_owned(), of.to_owned()));
        if let Some((base, of)) = found {
            (run.name, run.aggregate) = (base, of);
        }
        let [real, real_unit, cpu, cpu_unit, more @ ..] = figures else { return false };
        let seconds = |value: &str, name: &str| {
            let scale = if name == "%" { Some(1.0) } else { unit(name) };
            Some(number(value)? * scale?)
        };
        (run.real, run.cpu) = (seconds(real, real_unit), seconds(cpu, cpu_unit));
        run.iterations = more.first().and_then(|n| number(n));
        self.counters(more.get(1..).unwrap_or_default(), &mut run);
        run.write(&mut self.repeats, out);
        true
    }

    /// `bytes_per_second=9.19854G/s n=64 a label`, or the values of the header's counters.
    fn counters(&self, words: &[&str], run: &mut Run) {
        for (i, word) in words.iter().enumerate() {
            let (name, value) = match (self.columns.get(i), word.split_once('=')) {
                (Some(name), _) => (name.as_str(), *word),
                (None, Some((name, value))) => (name, value),
                // A label, which anything may follow.
                (None, None) => return,
            };
            let (plain, unit) = match value.strip_suffix("/s").or(value.strip_suffix('%')) {
                Some(plain) if value.ends_with('%') => (plain, "%"),
                Some(plain) => (plain, "/s"),
                None => (value, ""),
            };
            // Before 1.8 factors of 1024 had no `i`; only bytes are counted so.
            let base = if name == "bytes_per_second" { 1024.0 } else { 1000.0 };
            if let Some(value) = scaled(plain, base).or_else(|| small(plain)) {
                run.counters.push((name.to_owned(), value, unit));
            }
        }
    }
}

/// Below one there are factors too: `12.5m`, `3.1u`.
fn small(text: &str) -> Option<f64> {
    let factor = match text.chars().last()? {
        'm' => 1e-3,
        'u' => 1e-6,
        'n' => 1e-9,
        'p' => 1e-12,
        _ => return None,
    };
    Some(number(text.get(..text.len() - 1)?)? * factor)
}

/// The name, in which there may be blanks, and the words of its figures.
fn figures<'a, 'l>(words: &'a [&'l str]) -> Option<(String, &'a [&'l str])> {
    let is_unit = |word: Option<&&str>| word.is_some_and(|w| *w == "%" || unit(w).is_some());
    let is_number = |word: Option<&&str>| word.is_some_and(|w| number(w).is_some());
    let at = (1..words.len()).find(|i| {
        is_number(words.get(*i))
            && is_unit(words.get(i + 1))
            && is_number(words.get(i + 2))
            && is_unit(words.get(i + 3))
    })?;
    Some((words.get(..at)?.join(" "), words.get(at..)?))
}

/// Facts on the machine, above the table.
fn context(line: &str, out: &mut Out<'_>) -> bool {
    if let Some(warning) = line.strip_prefix("***WARNING*** ") {
        out.fact("load", "google-benchmark warning", warning);
        return true;
    }
    let begins =
        ["Running ", "Run on (", "CPU Caches:", "L1 ", "L2 ", "L3 ", "L4 ", "Load Average:", "----", "Unable to "];
    let is_date =
        line.len() >= 19 && line.get(..4).is_some_and(|y| number(y).is_some()) && line.get(10..11) == Some("T");
    is_date
        || begins.iter().any(|b| line.starts_with(b))
        || line.split_once(' ').is_some_and(|(date, _)| date.contains('-') && date.len() == 10)
}
