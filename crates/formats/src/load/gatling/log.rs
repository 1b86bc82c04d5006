//! `simulation.log`: a line for each request, group and user.

use std::collections::BTreeMap;

use fenxi_model::Micros;

use crate::{
    Head, Input, Out,
    load::{
        names::{self, Results},
        seconds::{Event, Kinds, Seconds},
        spread::Spread,
    },
};

const KINDS: Kinds = Kinds { errors: true, retries: false };
/// Groups that are kept apart.
const MAX_GROUPS: usize = 200;

/// The line of the run names its class, and when it began.
pub(super) fn is_log(head: &Head<'_>) -> bool {
    let run = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        cells.len() >= 5
            && cells[0] == "RUN"
            && millis(cells[3]).is_some()
            && cells[cells.len() - 1].starts_with(['2', '3'])
    };
    head.lines().take(60).find(|line| !line.starts_with("ASSERTION\t")).is_some_and(run)
}

/// `1795425709273`
fn millis(text: &str) -> Option<Micros> {
    let ms: i64 = text.parse().ok()?;
    (text.len() == 13).then(|| Micros(ms.saturating_mul(1000)))
}

struct Reader {
    seconds: Seconds,
    active: f64,
    groups: BTreeMap<String, (Spread, u64)>,
    skipped_groups: u64,
}

pub(super) fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let seconds = Seconds::new("gatling", 1.0, KINDS);
    let mut reader = Reader { seconds, active: 0.0, groups: BTreeMap::new(), skipped_groups: 0 };
    input.each_line(|number, line| {
        if !line.trim().is_empty() && reader.line(line, out).is_none() {
            out.unknown(number, line, "no line of simulation.log of Gatling 3");
        }
    });
    reader.finish(out);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> Option<()> {
        let cells: Vec<&str> = line.split('\t').collect();
        match *cells.first()? {
            "REQUEST" => self.request(&cells, out),
            "GROUP" => self.group(&cells),
            "USER" => self.user(&cells),
            "RUN" => run(&cells, out),
            "ERROR" => {
                let (message, t) = (cells.get(1)?, cells.get(2).and_then(|cell| millis(cell))?);
                out.event(t, "log", "gatling", message);
                Some(())
            }
            // The assertions, packed; the results do not depend on them.
            "ASSERTION" => Some(()),
            _ => None,
        }
    }

    /// `REQUEST [user] groups name start end status message`
    fn request(&mut self, cells: &[&str], out: &mut Out<'_>) -> Option<()> {
        let at = status(cells)?.max(4);
        let (begin, end) = (millis(cells[at - 2])?, millis(cells[at - 1])?);
        let ms = u64::try_from(end.0.saturating_sub(begin.0)).ok()? / 1000;
        let operation = self.seconds.operation(&path(cells[at - 4], cells[at - 3]));
        let event = Event { failed: cells[at] == "KO", clients: Some(self.active), ..Event::done(end, ms) };
        self.seconds.add(out, operation, &event);
        Some(())
    }

    /// `GROUP [user] groups start end cumulated status`: the cumulated time of its requests is what Gatling reports.
    fn group(&mut self, cells: &[&str]) -> Option<()> {
        let at = status(cells)?;
        let (ms, name) = (cells[at - 1].parse().ok()?, path(cells[at - 4], ""));
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(&name) {
            self.skipped_groups += 1;
            return Some(());
        }
        let (spread, failed) = self.groups.entry(name).or_default();
        spread.add(ms);
        *failed += u64::from(cells[at] == "KO");
        Some(())
    }

    /// `USER scenario [number] START time [time]`
    fn user(&mut self, cells: &[&str]) -> Option<()> {
        match cells.iter().skip(2).find(|cell| matches!(**cell, "START" | "END"))? {
            &"START" => self.active += 1.0,
            _ => self.active = (self.active - 1.0).max(0.0),
        }
        Some(())
    }

    fn finish(self, out: &mut Out<'_>) {
        self.seconds.finish(out);
        let mut results = Results::default();
        for (name, (spread, failed)) in &self.groups {
            let name = format!("group {name}");
            results.of(out, names::TRANSACTIONS, &name, spread.count() as f64);
            results.of(out, names::ERRORS, &name, *failed as f64);
            spread.write_results(out, &mut results, &name, 1.0);
        }
        if self.skipped_groups > 0 {
            out.note(None, &format!("{} groups beyond {MAX_GROUPS} different ones are left out", self.skipped_groups));
        }
    }
}

/// The position of `OK` or `KO`: behind two times at least.
fn status(cells: &[&str]) -> Option<usize> {
    let at = cells.iter().skip(4).position(|cell| matches!(*cell, "OK" | "KO"))? + 4;
    Some(at)
}

/// Groups, which the log separates by commas, and the name within, as Gatling prints them: `Basket / Add`.
fn path(groups: &str, name: &str) -> String {
    let mut path = groups.replace(',', " / ");
    if !path.is_empty() && !name.is_empty() {
        path.push_str(" / ");
    }
    path + name
}

/// `RUN class id start description version`
fn run(cells: &[&str], out: &mut Out<'_>) -> Option<()> {
    millis(cells.get(3)?)?;
    out.fact("load", "gatling simulation", cells[1]);
    out.fact("load", "gatling version", cells.last()?);
    if let Some(text) = cells.get(4).filter(|text| cells.len() > 5 && !text.trim().is_empty()) {
        out.fact("load", "gatling description", text);
    }
    Some(())
}
