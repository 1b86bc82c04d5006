//! Wait events of an Oracle report: the top ones, and the long lists after them.

use fenxi_model::catalog::db_wait;

use super::{
    Report,
    amount::{amount, milliseconds},
    dashes::Columns,
};
use crate::{Out, generic::labels::Labels};

/// Events that are kept; a report has some hundreds.
const MAX_EVENTS: usize = 4096;

#[derive(Debug)]
struct Event {
    name: String,
    class: Option<String>,
    waits: Option<f64>,
    time_s: Option<f64>,
    mean_ms: Option<f64>,
    /// Its part of the time that the list is about, in percent.
    share: Option<f64>,
}

/// Columns of a list of top events, by its header's words alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    mean: bool,
    class: bool,
    /// Times are hundredths of a second.
    centi: bool,
}

impl Top {
    /// Reads the words of all lines of the header.
    pub(super) fn new(header: &str) -> Top {
        Top { mean: header.contains("(ms)"), class: header.contains("Class"), centi: header.contains("(cs)") }
    }

    /// An event by its words: a name, numbers, and perhaps a class.
    fn event(self, line: &str) -> Option<Event> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let begin = (1..words.len()).find(|at| {
            // A name may have a number in it (`gc cr block 2-way`), which words follow.
            let rest = words.get(*at..).unwrap_or(&[]);
            rest.iter().take_while(|word| amount(word).is_some()).count() >= 2
        })?;
        let numbers: Vec<f64> = words.get(begin..)?.iter().map_while(|word| amount(word)).collect();
        let class = words.get(begin + numbers.len()..).unwrap_or(&[]).join(" ");
        let (waits, time_s, mean_ms, share) = match (numbers.as_slice(), self.mean) {
            // CPU time has no waits.
            ([time, share], _) => (None, *time, None, *share),
            ([waits, time, share], false) => (Some(*waits), *time, None, *share),
            ([waits, time, mean, share], true) => (Some(*waits), *time, Some(*mean), *share),
            _ => return None,
        };
        if !class.is_empty() && !self.class {
            return None;
        }
        let name = words.get(..begin)?.join(" ");
        let time_s = if self.centi { time_s / 100.0 } else { time_s };
        let class = Some(class).filter(|class| !class.is_empty());
        Some(Event { name, class, waits, time_s: Some(time_s), mean_ms, share: Some(share) })
    }
}

/// All events of the report.
#[derive(Debug, Default)]
pub(super) struct Events {
    events: Vec<Event>,
}

impl Events {
    /// A row of the list of top events. One that is not set as the rule above has it is read by its words; false when it cannot be.
    pub(super) fn top(&mut self, columns: &Columns, top: Option<&Top>, line: &str) -> bool {
        let set = event(columns, line).filter(|event| event.time_s.is_some() && !columns.cut_a_word(line));
        match set.or_else(|| top?.event(line)) {
            Some(event) => self.add(event),
            None => return !columns.cut_a_word(line),
        }
        true
    }

    /// A row of the list of top events, whose columns are known by its words only; false when it is none.
    pub(super) fn top_words(&mut self, top: &Top, line: &str) -> bool {
        top.event(line).map(|event| self.add(event)).is_some()
    }

    /// A row of a list of all events of sessions: those of the top list again, and idle ones.
    pub(super) fn foreground(&mut self, columns: &Columns, line: &str) {
        let Some(event) = event(columns, line) else { return };
        let known = |other: &Event| other.class.as_deref() != Some("background") && other.name.starts_with(&event.name);
        if self.events.iter().any(known) {
            return;
        }
        // Idle events have no share of the database's time.
        let share = columns.find(|name| name.starts_with('%') && name.contains("DB"));
        let idle = is_idle(&event.name) || share.is_some_and(|column| columns.cell(line, column).is_empty());
        self.add(Event { class: if idle { Some("Idle".to_owned()) } else { event.class }, share: None, ..event });
    }

    /// A row of the list of events of background processes.
    pub(super) fn background(&mut self, columns: &Columns, line: &str) {
        if let Some(event) = event(columns, line) {
            let class = if is_idle(&event.name) { "Idle" } else { "background" };
            self.add(Event { class: Some(class.to_owned()), share: None, ..event });
        }
    }

    fn add(&mut self, event: Event) {
        // Pages repeat nothing, but a report may be put together from several.
        let same = |other: &Event| other.name == event.name && other.class == event.class;
        if self.events.len() < MAX_EVENTS && !self.events.iter().any(same) {
            self.events.push(event);
        }
    }

    /// Writes one row an event.
    pub(super) fn write(self, report: &Report, out: &mut Out<'_>) {
        for event in self.events {
            let rate = |count: Option<f64>| Some(count? / report.dt?);
            let mean = event.mean_ms.or_else(|| {
                let waits = event.waits.filter(|waits| *waits > 0.0)?;
                Some(event.time_s? / waits * 1000.0)
            });
            let mut row = out.row(&db_wait::TABLE, report.t, report.dt);
            row.str(db_wait::server, report.server.as_deref()).str(db_wait::wait_event, event.name.as_str());
            row.str(db_wait::wait_class, event.class.as_deref()).f64(db_wait::waits_per_s, rate(event.waits));
            row.f64(db_wait::time, rate(event.time_s)).f64(db_wait::mean_ms, mean);
            let labels = Labels::of("event", &event.name);
            if report.dt.is_none() {
                // Without its length nothing is per second: what was counted stays.
                let counted = [("wait_count", event.waits, ""), ("wait_time", event.time_s, "s")];
                for (name, value, unit) in counted.into_iter().filter(|(_, value, _)| value.is_some()) {
                    out.metric(report.t, None, &format!("oracle.{name}"), labels.text(), value, unit);
                }
            }
            if event.share.is_some() {
                out.metric(report.t, report.dt, "oracle.event_time_share", labels.text(), event.share, "%");
            }
        }
    }
}

/// Waits for something to do, which older reports list among the others.
const IDLE: &[&str] = &[
    "SQL*Net message from client",
    "rdbms ipc message",
    "pmon timer",
    "smon timer",
    "PL/SQL lock timer",
    "jobq slave wait",
    "Streams AQ: qmn slave idle wait",
    "Streams AQ: qmn coordinator idle wait",
    "DIAG idle wait",
    "dispatcher timer",
    "shared server idle wait",
    "Space Manager: slave idle wait",
    "class slave wait",
    "virtual circuit status",
    "wakeup time manager",
    "VKTM Logical Idle Wait",
    "LGWR worker group idle",
];

/// Whether an event, its name perhaps cut, is a wait for something to do.
fn is_idle(name: &str) -> bool {
    name.len() > 8 && IDLE.iter().any(|idle| idle.starts_with(name))
}

fn event(columns: &Columns, line: &str) -> Option<Event> {
    let column = |test: &dyn Fn(&str) -> bool| columns.find(|name| test(&name.to_lowercase()));
    let cell = |column: Option<usize>| column.map_or("", |column| columns.cell(line, column));
    let name = columns.cell(line, 0);
    let waits = column(&|name| name == "waits");
    let time = column(&|name| name.contains("time") && !name.contains('%') && !name.contains("avg"));
    let mean = column(&|name| name.contains("avg") || name.contains("wait (ms)") || name == "(ms)");
    let share = column(&|name| name.contains("time") && !name.contains("(s)") && !name.contains("avg"))
        .filter(|c| Some(*c) != time);
    if name.is_empty() || time.is_none() {
        return None;
    }
    // Hundredths of a second until 8i.
    let centi = time.is_some_and(|column| columns.name(column).contains("(cs)"));
    let mean_scale = match mean.map_or("", |column| columns.name(column)) {
        name if name.contains("(cs)") => 10.0,
        name if name.contains("(s)") => 1000.0,
        _ => 1.0,
    };
    let time_s = amount(cell(time)).map(|time| if centi { time / 100.0 } else { time });
    let class = cell(column(&|name| name == "wait class" || name == "class"));
    Some(Event {
        name: name.to_owned(),
        class: Some(class).filter(|class| !class.is_empty()).map(str::to_owned),
        waits: amount(cell(waits)),
        time_s,
        mean_ms: milliseconds(cell(mean), mean_scale),
        share: amount(cell(share)),
    })
    .filter(|event| event.waits.is_some() || event.time_s.is_some())
}
