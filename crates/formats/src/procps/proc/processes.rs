//! `/proc/PID/stat`: a process at a moment, and what it used since the last one.

use fenxi_model::{Micros, catalog::process};
use fenxi_procfs::{
    USER_HZ,
    stat::{Stat, parse},
};
use rustc_hash::FxHashMap;

use crate::Out;

/// Processes that are remembered for the next moment.
const MAX: usize = 1 << 18;

/// Latest counters of each process.
#[derive(Default)]
pub struct Processes {
    last: FxHashMap<u32, (Micros, Stat)>,
}

/// Returns true if `text` is a whole line: a name may have line ends in it.
pub fn is_whole(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

impl Processes {
    /// Takes one line at the moment `t`; false when it is none.
    pub fn take(&mut self, text: &str, t: Micros, out: &mut Out<'_>) -> bool {
        let pid = text.split_once(' ').and_then(|(pid, _)| pid.parse::<u32>().ok());
        let (Some(pid), Some((stat, comm))) = (pid, parse(text.as_bytes())) else { return false };
        if self.last.len() >= MAX {
            self.last.clear();
        }
        let before = self.last.insert(pid, (t, stat)).filter(|(_, s)| s.start == stat.start);
        let dt = before.map(|(then, _)| t.seconds_since(then)).filter(|dt| *dt > 0.0);
        let grown = |now: u64, then: fn(&Stat) -> u64| Some((now.checked_sub(then(&before?.1))?) as f64 / dt?);
        let percent = |ticks: Option<f64>| ticks.map(|n| n * 100.0 / USER_HZ as f64);
        let (usr, sys) = (percent(grown(stat.utime, |s| s.utime)), percent(grown(stat.stime, |s| s.stime)));
        let mut row = out.row(&process::TABLE, t, dt);
        row.i64(process::pid, i64::from(pid)).str(process::comm, &*comm).i64(process::ppid, i64::from(stat.ppid));
        row.f64(process::usr, usr).f64(process::sys, sys).f64(process::cpu, usr.zip(sys).map(|(u, s)| u + s));
        row.f64(process::minor_faults_per_s, grown(stat.minor_faults, |s| s.minor_faults));
        row.f64(process::major_faults_per_s, grown(stat.major_faults, |s| s.major_faults));
        row.f64(process::rss_bytes, stat.rss_bytes as f64).f64(process::vsz_bytes, stat.vsz_bytes as f64);
        row.f64(process::threads, stat.threads as f64).i64(process::last_cpu, stat.last_cpu.map(i64::from));
        row.str(process::state, char::from(stat.state).encode_utf8(&mut [0; 4]) as &str);
        row.f64(process::priority, stat.priority as f64);
        if before.is_none() {
            let labels = format!("pid={pid},comm={}", comm.replace(',', "_"));
            let seconds = |ticks: u64| ticks as f64 / USER_HZ as f64;
            out.metric(t, None, "proc.usr_time", &labels, seconds(stat.utime), "s");
            out.metric(t, None, "proc.sys_time", &labels, seconds(stat.stime), "s");
        }
        true
    }
}
