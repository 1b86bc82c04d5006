//! Threads of a process that ran in the interval, one row each.

use fenxi_model::{
    Rows,
    catalog::thread::{self, TABLE},
};
use fenxi_procfs::{
    TICK_NS,
    stat::{Stat, split_as},
};
use rustc_hash::FxHashMap;

use super::{
    details::Measured,
    reader::{Reader, Run},
    state_name,
};
use crate::Tick;

/// A thread as it was when it last ran.
#[derive(Debug)]
struct KnownThread {
    run: Run,
    stat: Stat,
    comm: Box<str>,
    seen: u64,
}

/// The threads of one process.
#[derive(Debug, Default)]
pub struct Threads {
    known: FxHashMap<u32, KnownThread>,
    round: u64,
}

/// Whose threads they are.
pub struct Owner<'a> {
    pub pid: u32,
    pub user: Option<&'a str>,
    /// True if the process began in the interval: so did its threads.
    pub begun: bool,
}

impl Threads {
    /// Reads all threads of `owner` and adds a row for each that ran, if an interval ends now.
    ///
    /// Threads that are new since the look before count from their beginning.
    pub fn sample(&mut self, reader: &mut Reader, owner: &Owner<'_>, tick: Tick, rows: &mut Rows) {
        let first = self.round == 0;
        self.round += 1;
        let mut tids = std::mem::take(&mut reader.tids);
        if reader.list_tids(owner.pid, &mut tids) {
            for tid in &tids {
                self.thread(reader, owner, *tid, first, tick, rows);
            }
        }
        reader.tids = tids;
        let round = self.round;
        self.known.retain(|_, known| known.seen == round);
    }

    fn thread(&mut self, reader: &mut Reader, owner: &Owner<'_>, tid: u32, first: bool, tick: Tick, rows: &mut Rows) {
        let run = reader.thread_schedstat(owner.pid, tid).unwrap_or_default();
        if let Some(known) = self.known.get_mut(&tid)
            && known.run == run
            && run != Run::default()
        {
            known.seen = self.round;
            return;
        }
        let Some((stat, comm)) = reader.thread_stat(owner.pid, tid) else { return };
        let now = KnownThread { run, stat, comm: comm.into(), seen: self.round };
        let before = self.known.insert(tid, now).map(|k| (k.run, k.stat));
        let before = before.filter(|(_, then)| then.start == stat.start);
        // At the first look nothing is known of what was before.
        if before.is_none() && first && !owner.begun {
            return;
        }
        let (then_run, then) = before.unwrap_or_default();
        let (Some(dt), Some(known)) = (tick.dt.filter(|dt| *dt > 0.0), self.known.get(&tid)) else { return };
        let measured = run != Run::default();
        let usr = stat.utime.saturating_sub(then.utime);
        let sys = stat.stime.saturating_sub(then.stime);
        let ns = if measured { run.run_ns.saturating_sub(then_run.run_ns) } else { (usr + sys) * TICK_NS };
        if ns == 0 {
            return;
        }
        let (usr_ns, sys_ns) =
            if usr + sys > 0 { split_as(ns, usr, sys) } else { split_as(ns, stat.utime, stat.stime) };
        let pct = |ns: u64| ns as f64 / 1e7 / dt;
        let wait = measured.then(|| pct(run.wait_ns.saturating_sub(then_run.wait_ns)));
        rows.row(&TABLE, tick.t, dt)
            .i64(thread::pid, i64::from(owner.pid))
            .i64(thread::tid, i64::from(tid))
            .str(thread::comm, &*known.comm)
            .str(thread::user, owner.user)
            .f64(thread::usr, pct(usr_ns))
            .f64(thread::sys, pct(sys_ns))
            .f64(thread::cpu, pct(ns))
            .f64(thread::run_queue_wait, wait)
            .i64(thread::last_cpu, stat.last_cpu.map(i64::from))
            .str(thread::state, state_name(stat.state))
            .str(thread::cpu_measured, if measured { Measured::Schedstat } else { Measured::Ticks }.name());
    }
}
