//! `cpustat` and `cputrack` of Solaris and illumos: hardware counters of each CPU or thread.
//!
//! Times are seconds since the tool began; counts are those of the interval, and a last `total` line
//! repeats their sum. What `pic0` and `pic1` count is after the values or in the command line.

use fenxi_model::{Micros, catalog::metric};
use rustc_hash::FxHashMap;

use crate::{Family, Fields, Format, Head, Input, Out, Relative, Splitter, Sure, number};

/// Importer for cpustat and cputrack of Solaris and illumos.
pub static FORMAT: Format = Format {
    name: "cpustat",
    summary: "cpustat and cputrack of Solaris and illumos",
    family: Family::Unix,
    tables: &[&metric::TABLE],
    example: "\
   time cpu event      pic0      pic1
  5.003   0  tick 123456789  98765432
  5.003   1  tick 223456789 118765432
",
    sniff,
    read,
};

/// Most CPUs or threads whose last time is kept.
const MAX_UNITS: usize = 1 << 16;

fn sniff(head: &Head<'_>) -> Sure {
    let of_cpus = head.has_words("time cpu event") || head.has_words("time lwp event");
    let of_processes = head.has_words("time pid lwp event");
    Sure::Certain.when((of_cpus || of_processes) && head.any(|line| line.contains("pic")))
}

struct Reader {
    clock: Relative,
    /// Keys of a row: `cpu`, `lwp`, or `pid` and `lwp`.
    units: Vec<String>,
    /// The counters' columns (`pic0`), and what they count.
    columns: Vec<String>,
    events: Vec<(String, String)>,
    /// The last time of each CPU or thread, and of each set of events.
    last: FxHashMap<String, f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Relative::elapsed(out),
        units: Vec::new(),
        columns: Vec::new(),
        events: Vec::new(),
        last: FxHashMap::default(),
    };
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let number = input.number();
        let line = input.text().trim();
        let (values, comment) = line.split_once('#').unwrap_or((line, ""));
        let fields = splitter.blanks(values);
        let event = fields.iter().position(|word| word == "event");
        if let Some(event) = event.filter(|_| fields.get(0) == "time") {
            reader.units = fields.iter().take(event).skip(1).map(str::to_owned).collect();
            reader.columns = fields.from(event + 1).iter().map(str::to_owned).collect();
        } else if fields.is_empty() {
            reader.named(comment);
        } else if crate::number(fields.get(0)).is_some() {
            reader.named(comment);
            reader.row(number, &fields, out);
        } else if line.contains("cpustat") || line.contains("cputrack") {
            reader.named(line);
        } else {
            out.unknown(number, line, "neither header nor counts");
        }
    }
}

impl Reader {
    /// Finds `pic0=Cycle_cnt,pic1=Instr_cnt` in a comment or a command.
    fn named(&mut self, text: &str) {
        for part in text.split(|c: char| c == ',' || c.is_whitespace()) {
            let Some((pic, event)) = part.split_once('=') else { continue };
            let known = pic.strip_prefix("pic").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
            if !known || event.is_empty() {
                continue;
            }
            match self.events.iter_mut().find(|(name, _)| name == pic) {
                Some((_, was)) => event.clone_into(was),
                None => self.events.push((pic.to_owned(), event.to_owned())),
            }
        }
    }

    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let at = self.units.len() + 1;
        let Some(time) = number(fields.get(0)).filter(|_| !self.columns.is_empty()) else {
            out.unknown(line, fields.rest(0), "values before any header");
            return;
        };
        let event = fields.get(at);
        if event == "total" {
            return;
        }
        if fields.len() != at + 1 + self.columns.len() {
            out.wrong_count(line, fields.rest(0), fields.len(), at + 1 + self.columns.len());
            return;
        }
        let parts: Vec<String> =
            self.units.iter().enumerate().map(|(i, unit)| format!("{unit}={}", fields.get(i + 1))).collect();
        let labels = parts.join(",");
        if event != "tick" {
            // A thread began or ended; the counts are those of its whole life.
            out.event(self.clock.after(time), "log", &labels, event);
            return;
        }
        let before = self.last.get(&labels).copied();
        if before.is_some() || self.last.len() < MAX_UNITS {
            self.last.insert(labels.clone(), time);
        }
        let t: Micros = self.clock.after(time);
        let dt = Some(time - before.unwrap_or(0.0)).filter(|dt| *dt > 0.0);
        for (column, pic) in self.columns.iter().enumerate() {
            let cell = fields.get(at + 1 + column);
            let Some(count) = number(cell) else {
                out.unknown(line, cell, "no count");
                continue;
            };
            // `%tick` and the like are shares, not counts.
            let share = pic.starts_with('%');
            let name = self.events.iter().find(|(name, _)| name == pic).map_or(pic, |(_, event)| event);
            let value = if share { Some(count) } else { dt.map(|dt| count / dt) };
            out.metric(t, dt, &format!("cpustat.{name}"), &labels, value, if share { "%" } else { "/s" });
        }
    }
}
