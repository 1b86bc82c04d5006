//! The recorder's own collectors, fed with saved contents: one reading of a file's format for both.

use fenxi_model::{
    Micros, Place, Rows, TableRows, Type,
    catalog::{N_COMMON, disk, event, note, sched, softnet, tcp, udp},
    place::F64,
};
use fenxi_procfs::{Given, Root};
use fenxi_source::{Collector, SOURCES, Tick};
use rustc_hash::FxHashMap;

use super::saved::Saved;
use crate::Out;

/// A collector, the files it reads, and the columns that one reading of them is enough for.
struct Plan {
    source: &'static str,
    /// The more telling ones first: the first that there is sets the pace.
    files: &'static [Saved],
    gauges: &'static [usize],
}

const PLANS: &[Plan] = &[
    Plan { source: "cpu", files: &[Saved::Stat], gauges: &[] },
    Plan {
        source: "sched",
        files: &[Saved::Stat, Saved::Schedstat, Saved::Loadavg],
        gauges: &[
            sched::runnable.index(),
            sched::blocked.index(),
            sched::tasks.index(),
            sched::load1.index(),
            sched::load5.index(),
            sched::load15.index(),
            sched::cpus_online.index(),
        ],
    },
    Plan {
        source: "pressure",
        files: &[Saved::PressureCpu, Saved::PressureIo, Saved::PressureMemory, Saved::PressureIrq],
        gauges: &[],
    },
    Plan { source: "mem", files: &[Saved::Meminfo], gauges: ALL },
    Plan { source: "vm", files: &[Saved::Vmstat], gauges: &[] },
    Plan { source: "irq", files: &[Saved::Interrupts], gauges: &[] },
    Plan { source: "softirq", files: &[Saved::Softirqs], gauges: &[] },
    Plan {
        source: "tcp",
        files: &[Saved::Snmp, Saved::Netstat, Saved::Sockstat],
        gauges: &[
            tcp::established.index(),
            tcp::time_wait.index(),
            tcp::sockets.index(),
            tcp::socket_mem_bytes.index(),
        ],
    },
    Plan {
        source: "udp",
        files: &[Saved::Snmp, Saved::Snmp6, Saved::Sockstat],
        gauges: &[udp::sockets.index(), udp::socket_mem_bytes.index()],
    },
    Plan { source: "disk", files: &[Saved::Diskstats], gauges: &[disk::in_flight.index()] },
    Plan { source: "net", files: &[Saved::NetDev], gauges: &[] },
    Plan { source: "softnet", files: &[Saved::Softnet], gauges: &[softnet::backlog.index()] },
];

/// All columns are gauges.
const ALL: &[usize] = &[usize::MAX];

/// Collectors at work on saved contents.
pub struct Engine {
    given: Given,
    workers: Vec<Worker>,
    /// When each file was given last, in turns.
    given_in: FxHashMap<Saved, u64>,
    turn: u64,
}

struct Worker {
    plan: &'static Plan,
    collector: Option<Box<dyn Collector>>,
    last: Option<Micros>,
    /// The turn of the last sample.
    turn: u64,
}

/// Which of the columns that a collector sets are taken over.
#[derive(Clone, Copy)]
struct Keep<'a> {
    /// Only these, where given.
    gauges: Option<&'a [usize]>,
    /// Never these: the content does not have them.
    without: &'a [Place<disk::Schema, F64>],
}

impl Engine {
    pub fn new() -> Engine {
        let workers = PLANS.iter().map(|plan| Worker { plan, collector: None, last: None, turn: 0 }).collect();
        Engine { given: Given::default(), workers, given_in: FxHashMap::default(), turn: 0 }
    }

    /// Takes the contents of some files at the moment `t` and writes rows of them and those before.
    /// `without` are columns of disks that the contents know nothing of.
    pub fn sample(
        &mut self,
        files: &[(Saved, &[u8])],
        t: Micros,
        without: &[Place<disk::Schema, F64>],
        out: &mut Out<'_>,
    ) {
        self.turn += 1;
        for (file, content) in files {
            self.given.set(file.path(), content.to_vec());
            self.given_in.insert(*file, self.turn);
        }
        for worker in &mut self.workers {
            let of_plan = worker.plan.files.iter();
            let Some(pace) = of_plan.clone().find(|f| self.given_in.contains_key(f)) else { continue };
            if !files.iter().any(|(f, _)| f == pace) {
                continue;
            }
            // Files that were not given since the last sample are not known now.
            for file in of_plan.filter(|f| self.given_in.get(f).is_none_or(|turn| *turn <= worker.turn)) {
                self.given.set(file.path(), Vec::new());
            }
            worker.turn = self.turn;
            worker.sample(&self.given, t, without, out);
        }
    }

    /// Writes averages since boot, `uptime_s` before `t`, from the contents of some files.
    pub fn since_boot(
        files: &[(Saved, &[u8])],
        t: Micros,
        uptime_s: f64,
        without: &[Place<disk::Schema, F64>],
        out: &mut Out<'_>,
    ) {
        let given = Given::default();
        let mut rows = Rows::new("");
        for plan in PLANS.iter().filter(|p| p.files.iter().any(|f| files.iter().any(|(g, _)| f == g))) {
            for (file, content) in files {
                given.set(file.path(), at_boot(*file, content));
            }
            let Some(mut collector) = start(plan, &given) else { continue };
            // Errors of the text are noted when it is sampled.
            let _ = collector.sample(Tick::new(t, None), &mut rows);
            files.iter().for_each(|(file, content)| given.set(file.path(), content.to_vec()));
            let _ = collector.sample(Tick::new(t, Some(uptime_s)), &mut rows);
            out.since_boot(true);
            hand_over(&mut rows, (t, Some(uptime_s)), Keep { gauges: None, without }, false, out);
            out.since_boot(false);
        }
    }

    /// Writes the shares of CPU time since boot from /proc/stat, which need no uptime.
    pub fn shares_since_boot(stat: &[u8], t: Micros, out: &mut Out<'_>) {
        let given = Given::default();
        let mut rows = Rows::new("");
        let Some(mut collector) = PLANS.iter().find(|p| p.source == "cpu").and_then(|p| start(p, &given)) else {
            return;
        };
        for (content, dt) in [(zeroed(stat), None), (stat.to_vec(), Some(1.0))] {
            given.set(Saved::Stat.path(), content);
            // Errors of the text are noted when it is sampled.
            let _ = collector.sample(Tick::new(t, dt), &mut rows);
        }
        out.since_boot(true);
        hand_over(&mut rows, (t, None), Keep { gauges: None, without: &[] }, false, out);
        out.since_boot(false);
    }
}

fn start(plan: &Plan, given: &Given) -> Option<Box<dyn Collector>> {
    let source = SOURCES.iter().find(|s| s.spec().name == plan.source)?;
    source.start(&Root::given(given)).ok()
}

impl Worker {
    fn sample(&mut self, given: &Given, t: Micros, without: &[Place<disk::Schema, F64>], out: &mut Out<'_>) {
        let mut rows = Rows::new("");
        let first = self.collector.is_none();
        if first {
            self.collector = start(self.plan, given);
        }
        let Some(collector) = &mut self.collector else { return };
        let dt = self.last.replace(t).map(|last| t.seconds_since(last)).filter(|dt| *dt > 0.0);
        if let Err(error) = collector.sample(Tick::new(t, dt), &mut rows) {
            out.note(None, &error.to_string());
        }
        if dt.is_some() {
            hand_over(&mut rows, (t, dt), Keep { gauges: None, without }, true, out);
            return;
        }
        hand_over(&mut rows, (t, None), Keep { gauges: Some(&[]), without }, true, out);
        if first && !self.plan.gauges.is_empty() {
            // The same once more: counters stand still, and what is no counter shows.
            let _ = collector.sample(Tick::new(t, Some(1.0)), &mut rows);
            hand_over(&mut rows, (t, None), Keep { gauges: Some(self.plan.gauges), without }, false, out);
        }
    }
}

/// Hands rows over with their own time and length; rows without any value are left out.
fn hand_over(rows: &mut Rows, (t, dt): (Micros, Option<f64>), keep: Keep<'_>, notes: bool, out: &mut Out<'_>) {
    for table in rows.tables() {
        for row in 0..table.n_rows() {
            if let Some(noted) = table.typed(&note::TABLE) {
                if notes {
                    let file = noted.str(row, note::file).unwrap_or("");
                    let message = noted.str(row, note::message).unwrap_or("");
                    out.note(None, &format!("{file}: {message}"));
                }
            } else if let Some(events) = table.typed(&event::TABLE) {
                if notes && let Some(t) = events.micros(row, event::t) {
                    let label = |place| events.str(row, place).unwrap_or("");
                    let message = events.str(row, event::message).unwrap_or("");
                    out.event(t, label(event::kind), label(event::subject), message);
                }
            } else {
                copy(table, row, (t, dt), keep, out);
            }
        }
    }
    for table in rows.tables_mut() {
        table.take();
    }
}

fn copy(table: &TableRows, row: usize, (t, dt): (Micros, Option<f64>), keep: Keep<'_>, out: &mut Out<'_>) {
    let spec = table.table();
    let keys = N_COMMON..N_COMMON + spec.keys().len();
    let kept = |place: usize| {
        let gauge = keep.gauges.is_none_or(|g| g == ALL || g.contains(&place));
        gauge && !(keep.without.iter().any(|p| p.index() == place) && spec.id == disk::TABLE.id)
    };
    let value = |place: usize| match spec.columns[place].ty {
        Type::F64 | Type::I64 => table.f64(row, place),
        _ => None,
    };
    let values = keys.end..spec.columns.len();
    if !values.clone().any(|place| kept(place) && value(place).is_some()) {
        return;
    }
    let mut cells = out.row(spec, t, dt);
    for place in N_COMMON..spec.columns.len() {
        match spec.columns[place].ty {
            Type::I64 if keys.contains(&place) || kept(place) => {
                cells.i64(place, value(place).map(|v| v as i64));
            }
            Type::F64 if kept(place) => {
                cells.f64(place, value(place));
            }
            Type::I64 | Type::F64 => {}
            _ => {
                cells.str(place, table.str(row, place));
            }
        }
    }
}

/// The counters in a file as they were at boot.
fn at_boot(file: Saved, content: &[u8]) -> Vec<u8> {
    if file != Saved::Softnet {
        return zeroed(content);
    }
    let mut zero = String::new();
    for line in String::from_utf8_lossy(content).lines() {
        // The number of the CPU is no counter.
        let words = line.split_ascii_whitespace().enumerate();
        zero.extend(words.flat_map(|(i, word)| [if i == 12 { word } else { "00000000" }, " "]));
        zero.push('\n');
    }
    zero.into_bytes()
}

/// The text with every number made 0: what the counters were at boot. Labels stay.
fn zeroed(content: &[u8]) -> Vec<u8> {
    let mut zero = Vec::with_capacity(content.len());
    let mut word_begin = true;
    let mut at = 0;
    while at < content.len() {
        let byte = content[at];
        if word_begin && byte.is_ascii_digit() {
            let end = content[at..].iter().position(|b| !b.is_ascii_digit()).map_or(content.len(), |n| at + n);
            let whole = content.get(end).is_none_or(|b| b.is_ascii_whitespace());
            if whole {
                zero.push(b'0')
            } else {
                zero.extend(&content[at..end])
            }
            at = end;
            word_begin = false;
            continue;
        }
        zero.push(byte);
        word_begin = byte.is_ascii_whitespace() || matches!(byte, b':' | b'=');
        at += 1;
    }
    zero
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_zero_and_labels_stay() {
        let zero = |text: &str| String::from_utf8(zeroed(text.as_bytes())).unwrap();
        assert_eq!(zero("cpu0 12 3\n 24:  5  6  PCI-MSI 1-edge eth0\n"), "cpu0 0 0\n 24:  0  0  PCI-MSI 1-edge eth0\n");
        assert_eq!(zero("eth0:123 4"), "eth0:0 0");
        assert_eq!(zero("some avg10=0.10 total=15"), "some avg10=0.10 total=0");
        assert_eq!(zero("nr_x 7"), "nr_x 0");
    }

    #[test]
    fn every_plan_has_its_source() {
        for plan in PLANS {
            assert!(start(plan, &Given::default()).is_some() || plan.source == "pressure", "{}", plan.source);
        }
    }
}
