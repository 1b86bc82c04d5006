//! `cachestat`: page-cache accesses, hits and misses, by process.

mod view;

use std::cmp::Reverse;

use fenxi_model::{Rows, catalog::cache_access as c};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};

use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    drain::Drain,
    kernel,
    observer::{PID, option, source, spec, top},
    observing::Observing,
};

static OBJECT: Compiled = compiled!("cachestat");
static SPEC: Spec = spec("cachestat", "page cache: accesses, hits and misses, by process (eBPF)", &[&c::TABLE]);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Cachestat::ALL,
    formerly: None,
    about: "Show page cache hits and misses by process",
    question: "Do reads hit the page cache, and whose miss?",
    help: "\
In pages, of read calls and of faults on mapped files. Reads with O_DIRECT
bypass the cache and are not seen. Needs Linux 6.12. Without an INTERVAL, totals
are shown at the end (Ctrl-C, or exit of COMMAND).

  ACCESSES  pages read or faulted on
  MISSES    pages that these brought into the cache, read ahead included
  HITS      accesses less misses
  WRITTEN   pages that writes added to the cache
  REMOVED   pages reclaimed, truncated or dropped while the process ran

Examples:
  fenxi trace cachestat 1            of all processes, every second
  fenxi trace cachestat --by all 1   one line, like cachestat of bcc
  fenxi trace cachestat -p 1234 10 1 of a server, for ten seconds
  fenxi trace cachestat -- cat FILE  of a command",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option(
        "by",
        Takes::Word(&[("command", "Program name"), ("process", "Process"), ("all", "All processes together")]),
        "Group by",
    )
    .of_view(),
    top(20, "Maximum number of lines to show"),
    PID,
];

/// Counts accesses to the page cache.
#[derive(Clone, Debug)]
pub struct Cachestat {
    /// The processes observed.
    pub tracked: Tracked,
}

impl Cachestat {
    /// Of every process.
    pub const ALL: Cachestat = Cachestat { tracked: Tracked::All };
}

source!(Cachestat, |options| Cachestat { tracked: Tracked::by(options) });

/// The tracepoints that it needs; the first ones are newer.
const TRACEPOINTS: [&str; 3] = ["mm_filemap_get_pages", "mm_filemap_map_pages", "mm_filemap_fault"];

impl Cachestat {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        if let [first, ..] = kernel::missing_tracepoints(&TRACEPOINTS)?[..] {
            let why = "it has no such tracepoint, which Linux 6.12 brought".to_owned();
            return Err(EbpfError::Refused { what: format!("`tp_btf/{first}`"), why }.into());
        }
        let set = |loader: &mut Loader| loader.set("page_shift", rustix::param::page_size().ilog2());
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, set, Loaded::attach)?;
        let processes = Drain::new("processes", observing.map("processes")?)?;
        Ok(Box::new(Observed { observing, processes }))
    }
}

/// Rows of processes at each tick; what is beyond is added up.
const LINES: usize = 500;

struct Observed {
    observing: Observing,
    /// `struct sums`: accesses, misses, written, removed; then the program's name.
    processes: Drain<4>,
}

struct Line {
    /// None: processes are added up.
    who: Option<(String, u32)>,
    sums: [u64; 4],
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let mut lines = Vec::new();
        self.processes.added(|added| {
            let who = (Bytes(added.rest).text(16), Bytes(added.key).u32());
            lines.push(Line { who: Some(who), sums: added.sums });
        })?;
        // Events of the first reading are from before the recording.
        if tick.dt.is_some() {
            fewer(lines).iter().for_each(|line| put(line, tick, rows));
        }
        Ok(self.observing.report(tick, rows)?)
    }
}

/// The lines with the most accesses, the others added up.
fn fewer(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by_key(|line| Reverse(line.sums.iter().sum::<u64>()));
    let mut others = Line { who: None, sums: [0; 4] };
    for line in lines.drain(LINES.min(lines.len())..) {
        others.sums.iter_mut().zip(line.sums).for_each(|(sum, more)| *sum += more);
    }
    if others.sums != [0; 4] {
        lines.push(others);
    }
    lines
}

fn put(line: &Line, tick: Tick, rows: &mut Rows) {
    let [accesses, misses, written, removed] = line.sums;
    let hits = accesses.saturating_sub(misses);
    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
    if let Some((comm, pid)) = &line.who {
        row.str(c::comm, comm.as_str()).i64(c::pid, i64::from(*pid));
    }
    row.f64(c::accesses, accesses as f64).f64(c::hits, hits as f64).f64(c::misses, misses as f64);
    row.f64(c::written, written as f64).f64(c::removed, removed as f64);
    row.f64(c::hit_ratio, (accesses > 0).then(|| 100.0 * hits as f64 / accesses as f64));
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::*;

    fn line(pid: u32, sums: [u64; 4]) -> Line {
        Line { who: Some(("app".to_owned(), pid)), sums }
    }

    #[test]
    fn what_is_beyond_the_limit_is_added_up_and_not_lost() {
        let kept = fewer((1..=600).map(|pid| line(pid, [u64::from(pid), 1, 0, 0])).collect());
        assert_eq!(kept.len(), 501);
        let others = kept.last().unwrap();
        assert_eq!((others.who.is_none(), others.sums), (true, [5050, 100, 0, 0]));
        assert_eq!(fewer(vec![line(1, [1, 0, 0, 0])]).len(), 1);
    }

    #[test]
    fn pages_read_ahead_make_no_hits_below_none() {
        let mut rows = Rows::new("h");
        put(&line(7, [10, 25, 3, 1]), Tick::new(Micros(1), Some(1.0)), &mut rows);
        put(&line(8, [0, 0, 3, 0]), Tick::new(Micros(1), Some(1.0)), &mut rows);
        put(&line(9, [100, 25, 0, 0]), Tick::new(Micros(1), Some(1.0)), &mut rows);
        let table = rows.of(&c::TABLE).unwrap();
        let of = |row| (table.f64(row, c::hits), table.f64(row, c::hit_ratio));
        assert_eq!([0, 1, 2].map(of), [(Some(0.0), Some(0.0)), (Some(0.0), None), (Some(75.0), Some(75.0))]);
    }
}
