//! Lines about processes and threads: one row of each from the lines of several labels.

use fenxi_model::{
    Place,
    catalog::{process, thread},
    place::F64,
};
use rustc_hash::FxHashMap;

use super::When;
use crate::{Out, number};

const KB: f64 = 1024.0;
const SECTOR: f64 = 512.0;

/// Processes that are gathered before they are written, whatever is missing.
const MAX_GATHERED: usize = 1 << 18;

/// Known fields of one process of the sample.
struct Gathered {
    when: When,
    name: String,
    state: String,
    user: Option<String>,
    ppid: Option<i64>,
    last_cpu: Option<i64>,
    values: Vec<(Place<process::Schema, F64>, Option<f64>)>,
}

/// The processes of a sample, in the order of their first lines.
#[derive(Default)]
pub(super) struct Processes {
    places: FxHashMap<i64, usize>,
    gathered: Vec<(i64, Gathered)>,
}

/// Fields that begin every line of a process.
struct Begin<'a> {
    pid: i64,
    name: &'a str,
    state: &'a str,
    rest: &'a str,
}

/// Cuts `1 (the name) S ...`; with `-Z` the name has neither brackets nor blanks.
fn begin(text: &str) -> Option<Begin<'_>> {
    let (pid, rest) = text.split_once(' ')?;
    let pid = pid.parse().ok()?;
    if let Some(inner) = rest.strip_prefix('(') {
        // A name may have brackets in it; it is followed by one letter and a number or `y` or `n`.
        let end = inner.match_indices(") ").find_map(|(at, _)| {
            let (state, rest) = inner.get(at + 2..)?.split_once(' ')?;
            let next = rest.split(' ').next()?;
            let follows = next.len() == 1 || next.parse::<i64>().is_ok();
            (state.len() == 1 && follows).then_some(at)
        })?;
        return Some(Begin { pid, name: &inner[..end], state: &inner[end + 2..end + 3], rest: &inner[end + 4..] });
    }
    let mut parts = rest.splitn(3, ' ');
    Some(Begin { pid, name: parts.next()?, state: parts.next()?, rest: parts.next()? })
}

impl Processes {
    /// A line with `label`; false when it is not as it should be.
    pub(super) fn line(&mut self, label: &str, when: When, text: &str, out: &mut Out<'_>) -> bool {
        let Some(begin) = begin(text) else { return false };
        match label {
            "PRG" => self.general(when, &begin, out),
            "PRC" => self.cpu(when, &begin, out),
            "PRM" => self.memory(when, &begin, out),
            "PRD" => self.storage(when, &begin, out),
            "PRN" => self.network(when, &begin, out),
            // Graphics processors: processes that use none have no line.
            _ => true,
        }
    }

    fn of(&mut self, when: When, begin: &Begin<'_>, out: &mut Out<'_>) -> Option<&mut Gathered> {
        if self.gathered.len() >= MAX_GATHERED {
            self.flush(out);
        }
        let next = self.gathered.len();
        let at = *self.places.entry(begin.pid).or_insert(next);
        if at == next {
            let gathered = Gathered {
                when,
                name: begin.name.to_owned(),
                state: begin.state.to_owned(),
                user: None,
                ppid: None,
                last_cpu: None,
                values: Vec::new(),
            };
            self.gathered.push((begin.pid, gathered));
        }
        self.gathered.get_mut(at).map(|(_, gathered)| gathered)
    }

    /// Users, threads, the command line and the parent.
    fn general(&mut self, when: When, begin: &Begin<'_>, out: &mut Out<'_>) -> bool {
        let head: Vec<&str> = begin.rest.splitn(7, ' ').collect();
        let Some(command) = head.get(6) else { return false };
        let behind = if command.starts_with('(') {
            // The command line may have anything in it; four numbers follow it.
            let numbers = |rest: &str| rest.split(' ').take(4).all(|w| w.parse::<i64>().is_ok());
            command.match_indices(") ").find_map(|(at, _)| command.get(at + 2..).filter(|rest| numbers(rest)))
        } else {
            command.split_once(' ').map(|(_, rest)| rest)
        };
        let Some(behind) = behind else { return false };
        if behind.split(' ').find(|w| matches!(*w, "y" | "n")) == Some("n") {
            return true;
        }
        let Some(gathered) = self.of(when, begin, out) else { return false };
        gathered.user = head.first().map(|u| (*u).to_owned());
        gathered.ppid = behind.split(' ').next().and_then(|p| p.parse().ok());
        gathered.values.push((process::threads, head.get(3).and_then(|n| number(n))));
        true
    }

    /// Ticks per second, user, system, nice, priority, real-time priority, policy, CPU, -, process,
    /// whether it is one, nanoseconds runnable, where it waits, ticks waiting for I/O.
    fn cpu(&mut self, when: When, begin: &Begin<'_>, out: &mut Out<'_>) -> bool {
        let fields: Vec<&str> = begin.rest.split(' ').collect();
        let at = |i: usize| fields.get(i).and_then(|f| number(f)).filter(|v| *v >= 0.0);
        let Some(hertz) = at(0).filter(|h| *h > 0.0) else { return false };
        let share = |ticks: Option<f64>| when.rate(ticks).map(|t| t / hertz * 100.0);
        let (usr, sys) = (share(at(1)), share(at(2)));
        let cpu = usr.zip(sys).map(|(u, s)| u + s);
        let last_cpu = fields.get(7).and_then(|f| f.parse::<i64>().ok()).filter(|c| *c >= 0);
        let waiting = when.rate(at(11)).map(|ns| ns / 1e9 * 100.0);
        if fields.get(10) == Some(&"n") {
            let group = fields.get(9).and_then(|f| f.parse::<i64>().ok());
            let mut row = out.row(&thread::TABLE, when.t, when.dt);
            row.i64(thread::pid, group).i64(thread::tid, begin.pid).str(thread::comm, begin.name);
            row.str(thread::state, begin.state).f64(thread::usr, usr).f64(thread::sys, sys).f64(thread::cpu, cpu);
            row.f64(thread::run_queue_wait, waiting).i64(thread::last_cpu, last_cpu);
            return true;
        }
        // The name of what it waits for is in brackets and has no blanks.
        let io = share(at(13));
        let Some(gathered) = self.of(when, begin, out) else { return false };
        gathered.last_cpu = last_cpu;
        let priority = fields.get(4).and_then(|f| number(f));
        gathered.values.extend([
            (process::usr, usr),
            (process::sys, sys),
            (process::cpu, cpu),
            (process::run_queue_wait, waiting),
            (process::io_wait, io),
            (process::priority, priority),
        ]);
        true
    }

    /// Page size, virtual, resident, text, growth of both, minor and major faults, sizes, swapped,
    /// process, whether it is one.
    fn memory(&mut self, when: When, begin: &Begin<'_>, out: &mut Out<'_>) -> bool {
        let fields: Vec<&str> = begin.rest.split(' ').collect();
        let at = |i: usize| fields.get(i).and_then(|f| number(f)).filter(|v| *v >= 0.0);
        if fields.get(13) == Some(&"n") {
            return true;
        }
        let values = [
            (process::vsz_bytes, at(1).map(|v| v * KB)),
            (process::rss_bytes, at(2).map(|v| v * KB)),
            (process::minor_faults_per_s, when.rate(at(6))),
            (process::major_faults_per_s, when.rate(at(7))),
        ];
        let Some(gathered) = self.of(when, begin, out) else { return false };
        gathered.values.extend(values);
        at(7).is_some()
    }

    /// -, whether there are figures, reads, sectors, writes, sectors, cancelled, process, -,
    /// whether it is one.
    fn storage(&mut self, when: When, begin: &Begin<'_>, out: &mut Out<'_>) -> bool {
        let fields: Vec<&str> = begin.rest.split(' ').collect();
        let bytes = |i: usize| when.rate(fields.get(i).and_then(|f| number(f))).map(|n| n * SECTOR);
        if fields.get(9) == Some(&"n") || fields.get(1) == Some(&"n") {
            return true;
        }
        let values = [(process::read_bytes_per_s, bytes(3)), (process::write_bytes_per_s, bytes(5))];
        let Some(gathered) = self.of(when, begin, out) else { return false };
        gathered.values.extend(values);
        fields.len() > 5
    }

    /// Whether the module is loaded, then packets and bytes: TCP sent, received, UDP sent, received.
    fn network(&mut self, when: When, begin: &Begin<'_>, out: &mut Out<'_>) -> bool {
        let fields: Vec<&str> = begin.rest.split(' ').collect();
        if fields.first() != Some(&"y") || fields.get(12) == Some(&"n") {
            return true;
        }
        let labels = format!("pid={}", begin.pid);
        let names = ["tcp_tx_packets", "tcp_tx_bytes", "tcp_rx_packets", "tcp_rx_bytes"];
        let names = names.into_iter().chain(["udp_tx_packets", "udp_tx_bytes", "udp_rx_packets", "udp_rx_bytes"]);
        for (name, cell) in names.zip(fields.iter().skip(1)) {
            let rate = when.rate(number(cell));
            out.metric(when.t, when.dt, &format!("atop.process.{name}_per_s"), &labels, rate, "");
        }
        true
    }

    /// Writes the processes of the sample.
    pub(super) fn flush(&mut self, out: &mut Out<'_>) {
        self.places.clear();
        for (pid, gathered) in self.gathered.drain(..) {
            let mut row = out.row(&process::TABLE, gathered.when.t, gathered.when.dt);
            row.i64(process::pid, pid).str(process::comm, gathered.name.as_str());
            row.str(process::state, gathered.state.as_str()).str(process::user, gathered.user.as_deref());
            row.i64(process::ppid, gathered.ppid).i64(process::last_cpu, gathered.last_cpu);
            for (place, value) in gathered.values {
                row.f64(place, value);
            }
        }
    }
}
