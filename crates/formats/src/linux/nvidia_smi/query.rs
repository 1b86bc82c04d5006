//! `--query-gpu=... --format=csv` and `--query-compute-apps=...`: a line of titles, then a line for
//! each GPU or process, repeated with `-l`.

use fenxi_model::Micros;
use jiff::civil::DateTime;
use rustc_hash::FxHashSet;

use super::{Target, base_unit, figure, missing, sample::Sample};
use crate::{Clock, Fields, Out, Relative, Splitter, Ticker, When, civil_date, civil_time};

/// Whether a line has the titles of a query.
pub(super) fn is_titles(line: &str) -> bool {
    const OWN: [&str; 9] = [
        "utilization.gpu",
        "utilization.memory",
        "memory.used",
        "memory.total",
        "temperature.gpu",
        "power.draw",
        "clocks.",
        "used_gpu_memory",
        "pci.bus_id",
    ];
    let mut words = line.split(',').map(|w| w.trim().trim_matches('"'));
    line.contains(',')
        && words.clone().all(|w| w.starts_with(|c: char| c.is_ascii_lowercase()))
        && words.any(|w| OWN.iter().any(|own| w.starts_with(own)))
}

struct Column {
    name: String,
    unit: String,
}

/// Facts that are kept, however many different ones there are.
const MAX_FACTS: usize = 4096;

pub(super) struct Query {
    columns: Vec<Column>,
    clock: Clock,
    ticker: Ticker,
    relative: Option<Relative>,
    now: Option<(Micros, Option<f64>)>,
    /// The time of the row before.
    last: Option<Micros>,
    /// The rows of a sample, where none names its GPU.
    sample: Sample,
    /// Labels that had a line in the sample.
    keys: Vec<String>,
    /// Words that were written as facts.
    facts: FxHashSet<String>,
}

impl Query {
    pub(super) fn new(head: &str, out: &Out<'_>) -> Query {
        Query {
            columns: Vec::new(),
            clock: Clock::new(out.hints()),
            ticker: Ticker::new(out.hints(), "", |_| None),
            relative: None,
            now: None,
            last: None,
            sample: Sample::of(&times(head)),
            keys: Vec::new(),
            facts: FxHashSet::default(),
        }
    }

    /// Whether there was a line of titles.
    pub(super) fn begun(&self) -> bool {
        !self.columns.is_empty()
    }

    pub(super) fn titles(&mut self, line: &str) {
        let column = |word: &str| {
            let (name, unit) = word.trim().trim_matches('"').split_once(" [").unwrap_or((word.trim(), ""));
            Column { name: name.to_owned(), unit: unit.trim_end_matches(']').to_owned() }
        };
        self.columns = line.split(',').map(column).collect();
    }

    fn cell<'a>(&self, name: &str, fields: &Fields<'a>) -> Option<&'a str> {
        let at = self.columns.iter().position(|c| c.name == name)?;
        Some(fields.get(at)).filter(|cell| !missing(cell))
    }

    /// Which GPU or process a line is of, as labels.
    fn labels(&self, fields: &Fields<'_>, target: &mut Target) -> String {
        let mut labels = String::new();
        let ways = [("gpu", ["index", "pci.bus_id", "gpu_bus_id"]), ("gpu", ["uuid", "gpu_uuid", "gpu_name"])];
        let gpu =
            ways.iter().find_map(|(label, names)| Some((label, names.iter().find_map(|n| self.cell(n, fields))?)));
        if let Some((label, cell)) = gpu {
            labels = format!("{label}={cell}");
            target.label(label, cell);
        }
        for (label, names) in [("pid", ["pid", "pid"]), ("process", ["process_name", "name"])] {
            let name = names.iter().find_map(|n| self.cell(n, fields));
            if let Some(cell) = name.filter(|_| self.cell("pid", fields).is_some()) {
                labels.push_str(if labels.is_empty() { "" } else { "," });
                labels.push_str(&format!("{label}={}", cell.replace(',', "_")));
                target.label(label, cell);
            }
        }
        labels
    }

    pub(super) fn values(&mut self, line: u64, text: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let fields = splitter.at(text, b',');
        if fields.len() != self.columns.len() {
            out.wrong_count(line, text, fields.len(), self.columns.len());
            return;
        }
        let mut target = Target::default();
        let mut labels = self.labels(&fields, &mut target);
        let is_named = !labels.is_empty();
        let Some((t, dt)) = self.time(&mut labels, &fields, out) else {
            out.unknown(line, text, "no time in the column `timestamp`");
            return;
        };
        if let Some(order) = labels.strip_prefix("gpu=").filter(|_| !is_named) {
            target.label("gpu", order);
        }
        if let Some(model) = self.cell("name", &fields).filter(|_| self.cell("pid", &fields).is_none()) {
            target.label("model", model);
        }
        for (i, column) in self.columns.iter().enumerate() {
            let cell = fields.get(i);
            let name = column.name.as_str();
            let key =
                matches!(name, "timestamp" | "index" | "pid" | "process_name" | "count" | "gpu_bus_id" | "gpu_uuid");
            if key || missing(cell) {
                continue;
            }
            let unit =
                if column.unit.is_empty() { cell.split_once(' ').map_or("", |(_, unit)| unit) } else { &column.unit };
            let words =
                ["name", "uuid", "serial", "driver_version", "vbios_version", "pci.bus_id", "gpu_name"].contains(&name);
            match figure(cell).filter(|_| !words) {
                Some(value) => {
                    if name.ends_with("_reasons.active") {
                        target.reasons(value);
                    }
                    let (factor, unit) = base_unit(match unit {
                        "Active" => "",
                        "" if name.starts_with("temperature.") => "C",
                        unit => unit,
                    });
                    if !target.take(name, value * factor) {
                        out.metric(t, dt, &format!("nvidia-smi.{name}"), &labels, value * factor, unit);
                    }
                }
                None => {
                    let fact = format!("{labels} {name}");
                    let seen = format!("{fact}\0{cell}");
                    if self.facts.len() < MAX_FACTS && self.facts.insert(seen) {
                        out.fact("gpu", fact.trim_start(), cell);
                    }
                }
            }
        }
        target.write(t, dt, out);
    }

    /// The time and length of the interval. Without a GPU's name in the line it is known by its
    /// place in the sample.
    fn time(&mut self, labels: &mut String, fields: &Fields<'_>, out: &mut Out<'_>) -> Option<(Micros, Option<f64>)> {
        let stamp = self.columns.iter().position(|c| c.name == "timestamp");
        let now = match stamp {
            Some(at) => {
                let when = date_time(fields.get(at))?;
                let t = self.clock.moment(when);
                let pause = self.last.map(|last| t.seconds_since(last).abs());
                self.last = Some(t);
                // The GPUs of one sample are read one after another: their times differ by some milliseconds.
                let (again, longest) = if labels.is_empty() {
                    (self.keys.len() >= self.sample.rows, self.sample.pause_s)
                } else {
                    (self.keys.contains(labels), 0.25)
                };
                match self.now.filter(|_| !again && pause.is_some_and(|pause| pause < longest)) {
                    Some(now) => now,
                    None => {
                        self.keys.clear();
                        (t, self.ticker.tick(t))
                    }
                }
            }
            None => match self.now.filter(|_| !labels.is_empty() && !self.keys.contains(labels)) {
                Some(now) => now,
                None => {
                    self.keys.clear();
                    let (t, dt) = self.relative.get_or_insert_with(|| Relative::new(out, None)).tick();
                    (t, Some(dt))
                }
            },
        };
        if labels.is_empty() {
            *labels = format!("gpu={}", self.keys.len());
            if stamp.is_some() {
                out.assume(match self.sample.rows {
                    1 => "one GPU, as no column names it and the times are evenly apart (query `index` to be sure)",
                    _ => "GPUs by their order, as no column names them (query `index` to be sure)",
                });
            }
        }
        self.keys.push(labels.clone());
        self.now = Some(now);
        Some(now)
    }
}

/// The times of a query's first rows, in seconds.
fn times(head: &str) -> Vec<f64> {
    let mut at = None;
    let mut times = Vec::new();
    for line in head.lines() {
        if is_titles(line) {
            at = line.split(',').position(|word| word.trim().trim_matches('"') == "timestamp");
        } else if let Some(when) = at.and_then(|at| line.split(',').nth(at)).and_then(|cell| date_time(cell.trim())) {
            times.push(When::Civil(when, None).seconds());
        }
    }
    times
}

/// `2024/06/01 11:27:05.177`
fn date_time(cell: &str) -> Option<DateTime> {
    let (date, time) = cell.split_once(' ')?;
    Some(civil_date(&date.replace('/', "-"))?.to_datetime(civil_time(time, None)?))
}
