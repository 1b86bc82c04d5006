//! Output of Gatling: its progress every five seconds, and a summary at its end.
//!
//! Counts so far become rates between two such reports. Of the first there is none: its length is printed in whole seconds.

use fenxi_model::{Micros, catalog::load};

use super::figures::{Figures, Parts, What};
use crate::{
    Clock, Head, Input, Out, civil_date, civil_time, grouped,
    load::names::{self, Results},
    number, zone_named,
};

/// Titles of the summary's lines.
const TITLES: &[(&str, What)] = &[
    ("request count", What::Count),
    ("mean requests/sec", What::Rate),
    ("mean throughput (rps)", What::Rate),
    ("min response time", What::Latency(names::LATENCY_MIN)),
    ("max response time", What::Latency(names::LATENCY_MAX)),
    ("mean response time", What::Latency(names::LATENCY_MEAN)),
    ("std deviation", What::Latency(names::LATENCY_SD)),
    ("response time std deviation", What::Latency(names::LATENCY_SD)),
];

/// `---- Requests -----`, `---- Global Information ---|---Total---|...`
fn section(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("---- ")?;
    let end = rest.find(" ----")?;
    rest.get(..end)
}

pub(super) fn is_console(head: &Head<'_>) -> bool {
    let mut last = "";
    head.lines().any(|line| {
        let summary = last.starts_with("=====") && section(line) == Some("Global Information");
        let progress = line.starts_with("> Global ") && section(last) == Some("Requests");
        last = line;
        summary || progress && parts(line).is_some()
    })
}

/// The title of a line and its three figures: `> Home   (OK=20  KO=0  )`, `> request count   137 (OK=128  KO=9  )`,
/// `> Home   |   19 |   19 |   0`.
fn parts(line: &str) -> Option<(&str, Parts)> {
    let line = line.strip_prefix("> ")?.trim_end();
    let figure = |text: &str| grouped(text.trim());
    if let Some((title, rest)) = line.split_once(" |") {
        let cells: Vec<&str> = rest.split('|').collect();
        let [all, ok, failed] = cells[..] else { return None };
        return Some((title.trim(), [figure(all), figure(ok), figure(failed)]));
    }
    let (left, rest) = line.rsplit_once("(OK=")?;
    let (ok, failed) = rest.strip_suffix(')')?.split_once("KO=")?;
    let (ok, failed) = (figure(ok), figure(failed));
    let left = left.trim_end();
    match left.rsplit_once("  ") {
        Some((title, all)) if figure(all).is_some() || all == "-" => Some((title.trim(), [figure(all), ok, failed])),
        _ => Some((left, [ok.zip(failed).map(|(ok, failed)| ok + failed), ok, failed])),
    }
}

/// A line's text, and the count behind it with its share: `> failed   9 (  7%)`.
fn counted(line: &str) -> Option<(&str, f64)> {
    let (left, share) = line.strip_prefix("> ")?.trim_end().rsplit_once('(')?;
    share.strip_suffix("%)")?;
    let (title, count) = left.trim_end().rsplit_once(' ')?;
    Some((title.trim(), grouped(count)?))
}

/// Requests of one report that are followed.
const MOST: usize = 500;

/// How far the run was.
struct Progress {
    t: Micros,
    counts: Vec<(String, Parts)>,
    active: Option<f64>,
}

struct Reader {
    clock: Clock,
    section: String,
    all: Figures<'static>,
    summary: bool,
    now: Option<Progress>,
    before: Option<Progress>,
}

pub(super) fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        section: String::new(),
        all: Figures::of(""),
        summary: false,
        now: None,
        before: None,
    };
    input.each_line(|number, line| {
        let text = line.trim();
        if !text.is_empty() && !reader.line(text, out) {
            out.unknown(number, text, "no line that Gatling prints");
        }
    });
    reader.end(out);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line.starts_with("=====") {
            self.end(out);
            (self.summary, self.section) = (false, String::new());
            return true;
        }
        if let Some(section) = section(line) {
            self.summary |= section == "Global Information";
            self.section = section.to_owned();
            return true;
        }
        if let Some(when) = line.strip_suffix("s elapsed") {
            return self.begin(when, out);
        }
        if line.starts_with("> ") {
            return match &*self.section {
                "Errors" => self.error(line, out),
                "Response Time Distribution" => self.range(line, out),
                "Global Information" => self.summary(line, out),
                "Requests" => self.count(line),
                _ => false,
            };
        }
        if let (Some((_, active)), Some(now)) = (line.split_once("active:"), &mut self.now) {
            let active = active.split('/').next().and_then(|n| grouped(n.trim()));
            now.active = active.map(|active| now.active.unwrap_or(0.0) + active).or(now.active);
            return active.is_some();
        }
        // Bars, and remarks.
        line.starts_with('[') || self.section.is_empty() || self.summary
    }

    /// `2026-11-23 09:28:36 GMT      4`
    fn begin(&mut self, when: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = when.split_ascii_whitespace().collect();
        let (Some(date), Some(time)) = (words.first(), words.get(1)) else { return false };
        let (Some(date), Some(time)) = (civil_date(date), civil_time(time, None)) else { return false };
        if let [_, _, zone, _] = words[..] {
            self.clock.set_zone(zone_named(zone, out));
        }
        let t = self.clock.moment(date.to_datetime(time));
        self.now = Some(Progress { t, counts: Vec::new(), active: None });
        true
    }

    fn count(&mut self, line: &str) -> bool {
        let (Some((title, parts)), Some(now)) = (parts(line), &mut self.now) else { return false };
        if now.counts.len() >= MOST {
            return false;
        }
        now.counts.push((if title == "Global" { "" } else { title }.to_owned(), parts));
        true
    }

    fn summary(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((title, parts)) = parts(line) else { return false };
        let title = title.strip_suffix(" (ms)").unwrap_or(title);
        let percentile = || {
            let rank = title.strip_prefix("response time ")?.strip_suffix(" percentile")?;
            number(rank.trim_end_matches(|c: char| c.is_ascii_alphabetic())).map(What::Percentile)
        };
        let known = TITLES.iter().find(|(t, _)| *t == title).map(|(_, what)| *what).or_else(percentile);
        known.is_some_and(|what| {
            self.all.write(out, what, parts);
            true
        })
    }

    fn range(&self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((title, count)) = counted(line) else { return false };
        // Those that failed are counted already.
        matches!(title, "failed" | "KO") || self.all.range(out, title.trim_start_matches("OK: "), Some(count))
    }

    /// Errors so far say the same as those of the summary, once there is one.
    fn error(&self, line: &str, out: &mut Out<'_>) -> bool {
        if self.summary
            && let Some((message, count)) = counted(line)
        {
            Results::default().of(out, names::ERRORS, message, count);
        }
        true
    }

    /// A report of how far it is has ended.
    fn end(&mut self, out: &mut Out<'_>) {
        // A line above and one below.
        if self.now.as_ref().is_none_or(|now| now.counts.is_empty()) {
            return;
        }
        let Some(now) = self.now.take() else { return };
        let dt = self.before.as_ref().map(|before| now.t.seconds_since(before.t)).filter(|dt| *dt > 0.0);
        // The last one comes within the second of the one before.
        if self.before.is_some() && dt.is_none() {
            return;
        }
        for (operation, counts) in &now.counts {
            let before = self.before.as_ref().and_then(|b| b.counts.iter().find(|(name, _)| name == operation));
            let rate = |at: usize| {
                let was = before.map_or(Some(0.0), |(_, counts)| counts[at])?;
                Some((counts[at]? - was) / dt?).filter(|rate| *rate >= 0.0)
            };
            let (all, failed) = (rate(0), rate(2));
            let total = operation.is_empty();
            let clients = now.active.filter(|_| total);
            if [all, failed, clients].iter().all(Option::is_none) {
                continue;
            }
            let mut row = out.row(&load::TABLE, now.t, dt);
            row.str(load::generator, "gatling").str(load::operation, Some(&**operation).filter(|_| !total));
            row.f64(load::transactions_per_s, all).f64(load::errors_per_s, failed);
            row.f64(load::clients, clients);
        }
        self.before = Some(now);
    }
}
