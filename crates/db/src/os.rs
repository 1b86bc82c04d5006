//! Kernel statistics of a server's own processes, where the server runs on this host: time on a CPU and in the run
//! queue. A server knows neither, and samples of its sessions miss most of a busy CPU.

use fenxi_model::{
    Rows,
    catalog::{db_setting, db_wait, metric},
};
use fenxi_procfs::{Root, TICK_NS, cgroup, schedstat, stat};
use fenxi_wire::{Dialect, host::Listener};
use rustc_hash::FxHashMap;

use crate::{
    activity,
    moment::Interval,
    reading::About,
    schedule::Turn,
    server::Server,
    task::{Task, Whose},
};

/// Seconds between two readings of memory.
const MEMORY_S: u32 = 10;

/// Nanoseconds of a task so far: on a CPU, and runnable without one.
type Times = (u64, u64);

/// A server's processes on this host.
pub struct Os {
    dialect: Dialect,
    listener: Listener,
    root: Root,
    last: FxHashMap<u32, Times>,
    /// For which work the tasks of `last` ran.
    whose: FxHashMap<u32, Whose>,
    /// CPU time of processes of the server that have ended, nanoseconds so far.
    ended_ns: Option<u64>,
    has_last: bool,
    memory: Turn,
    /// Whether the server's numbers of processes are those of this host: in a container they are not.
    is_here: Option<bool>,
}

impl Os {
    /// The processes behind a server's address; None when they are on another host, or may not be looked at.
    pub fn find(server: &Server) -> Option<Os> {
        let target = server.target();
        let endpoint = target.endpoints().ok()?.into_iter().next()?;
        let listener = Listener::find(&endpoint)?;
        crate::known::remember(listener.pid(), server.name());
        let root = listener.processes().root().clone();
        Some(Os {
            dialect: target.login.dialect,
            listener,
            root,
            last: FxHashMap::default(),
            whose: FxHashMap::default(),
            ended_ns: None,
            has_last: false,
            memory: Turn::every(MEMORY_S),
            is_here: None,
        })
    }

    /// All processes or threads of the server.
    fn ids(&self, tasks: &[Task]) -> Vec<u32> {
        match self.dialect {
            Dialect::Postgres => tasks.iter().map(|task| task.id).chain([self.listener.pid()]).collect(),
            Dialect::Mysql => self.listener.processes().tids(self.listener.pid()),
        }
    }

    /// Whether our own session's number, as the server reports it, is a process or thread of the one that listens here.
    fn check(&self, tasks: &[Task]) -> Option<bool> {
        let own = tasks.iter().find(|task| task.whose == Whose::Own)?.id;
        Some(match self.dialect {
            Dialect::Postgres => {
                stat::of_process(&self.root, own).is_some_and(|(stat, _)| stat.ppid == self.listener.pid())
            }
            Dialect::Mysql => self.listener.processes().tids(self.listener.pid()).contains(&own),
        })
    }

    /// Which process it is, and in which control group: what a quota holds back is known by that.
    fn tell(&self, server: &str, interval: Interval, rows: &mut Rows) {
        let pid = self.listener.pid();
        let groups = self.root.read_text(&format!("/proc/{pid}/cgroup"));
        // Where version 1 has the CPU controller, groups of version 2 have no quota.
        let group =
            groups.as_deref().and_then(|text| cgroup::path_of(text, "cpu").or_else(|| cgroup::path_of(text, "")));
        for (name, value) in [("pid", Some(pid.to_string())), ("cgroup", group.map(str::to_owned))] {
            let Some(value) = value else { continue };
            rows.row(&db_setting::TABLE, interval.t, None)
                .str(db_setting::server, server)
                .str(db_setting::name, name)
                .text(db_setting::value, value.as_str())
                .str(db_setting::origin, "server");
        }
    }

    /// CPU time of the server's processes that have ended, nanoseconds so far: sessions of PostgreSQL are children of one process.
    fn ended_so_far(&self) -> Option<u64> {
        if self.dialect != Dialect::Postgres {
            return None;
        }
        let (stat, _) = stat::of_process(&self.root, self.listener.pid())?;
        Some((stat.child_utime + stat.child_stime) * TICK_NS)
    }

    /// CPU time of processes that were gone at the end of an interval, ns, and for which work: those present at its
    /// begin, and those that came within it. A server connected to for each statement works in such processes only.
    fn of_ended(&mut self, last: &FxHashMap<u32, Times>) -> (u64, Whose) {
        let now = self.ended_so_far();
        let grown = now.zip(self.ended_ns).map_or(0, |(now, before)| now.saturating_sub(before));
        self.ended_ns = now;
        let gone = || last.iter().filter(|(id, _)| !self.last.contains_key(id));
        let known: u64 = gone().map(|(_, (ran, _))| ran).sum();
        let is_background = gone().any(|(id, _)| self.whose.get(id) != Some(&Whose::Client));
        (grown.saturating_sub(known), if is_background { Whose::Background } else { Whose::Client })
    }

    fn times(&self, id: u32) -> Option<Times> {
        let path = match self.dialect {
            Dialect::Postgres => format!("/proc/{id}/schedstat"),
            Dialect::Mysql => format!("/proc/{}/task/{id}/schedstat", self.listener.pid()),
        };
        times(&self.root.read_text(&path)?)
    }

    /// Adds the memory that is the server's processes' alone: neither files nor what they share.
    fn tell_memory(&mut self, about: &About<'_>, tasks: &[Task], rows: &mut Rows) {
        let Some(interval) = self.memory.take(about) else { return };
        let pids = match self.dialect {
            Dialect::Postgres => self.ids(tasks),
            Dialect::Mysql => vec![self.listener.pid()],
        };
        let pages = pids.iter().filter_map(|pid| private_pages(&self.root.read_text(&format!("/proc/{pid}/statm"))?));
        let bytes = pages.sum::<u64>() * rustix::param::page_size() as u64;
        rows.row(&metric::TABLE, interval.t, interval.dt)
            .str(metric::name, "db_private_memory")
            .str(metric::labels, format!("server={}", about.server).as_str())
            .f64(metric::value, bytes as f64)
            .str(metric::unit, "B");
    }

    /// Adds rows for CPU time and run queue of clients' and background work, and what asking cost the server.
    pub fn read(&mut self, about: &About<'_>, tasks: &[Task], rows: &mut Rows) {
        let About { server, interval, .. } = *about;
        if self.is_here.is_none() {
            self.is_here = self.check(tasks);
            if self.is_here == Some(true) {
                self.tell(server, interval, rows);
            } else if self.is_here == Some(false) {
                let why =
                    "the server's numbers of processes are not this host's (a container?): its CPU time is not known";
                rows.note(server, None, why);
            }
        }
        if self.is_here != Some(true) {
            return;
        }
        self.tell_memory(about, tasks, rows);
        let now: FxHashMap<u32, Times> =
            self.ids(tasks).into_iter().filter_map(|id| Some((id, self.times(id)?))).collect();
        let last = std::mem::replace(&mut self.last, now);
        let had_last = std::mem::replace(&mut self.has_last, true);
        let (ended_ns, ended_for) = self.of_ended(&last);
        self.whose = tasks.iter().map(|task| (task.id, task.whose)).collect();
        let Some(dt) = interval.dt.filter(|dt| *dt > 0.0 && had_last) else { return };
        // A kernel without schedstat reports nothing.
        if self.last.is_empty() {
            return;
        }
        let mut sums = [(0_u64, 0_u64); 3];
        for (id, (ran, waited)) in &self.last {
            // A new process or thread has begun within the interval.
            let (ran_before, waited_before) = last.get(id).copied().unwrap_or_default();
            let sum = match self.whose.get(id).copied().unwrap_or(Whose::Background) {
                Whose::Client => &mut sums[0],
                Whose::Background => &mut sums[1],
                Whose::Own => &mut sums[2],
            };
            sum.0 += ran.saturating_sub(ran_before);
            sum.1 += waited.saturating_sub(waited_before);
        }
        sums[if ended_for == Whose::Client { 0 } else { 1 }].0 += ended_ns;
        let per_s = |ns: u64| ns as f64 / 1e9 / dt;
        for (kind, (ran, waited)) in ["client", "background"].into_iter().zip(sums) {
            for (activity, ns) in [(activity::CPU, ran), (activity::RUN_QUEUE, waited)] {
                rows.row(&db_wait::TABLE, interval.t, dt)
                    .str(db_wait::server, server)
                    .str(db_wait::wait_class, "CPU")
                    .str(db_wait::wait_event, activity)
                    .str(db_wait::kind, kind)
                    .str(db_wait::measured, "os")
                    .str(db_wait::activity, activity)
                    .f64(db_wait::time, per_s(ns));
            }
        }
        rows.row(&metric::TABLE, interval.t, dt)
            .str(metric::name, "db_poller_server_cpu")
            .str(metric::labels, format!("server={server}").as_str())
            .f64(metric::value, per_s(sums[2].0))
            .str(metric::unit, "CPU");
    }
}

/// The first two numbers of a task's schedstat.
fn times(text: &str) -> Option<Times> {
    let [ran, waited, _] = schedstat::times(text)?;
    Some((ran, waited))
}

/// Resident pages without those of files and shared memory, of a process' `statm`.
fn private_pages(text: &str) -> Option<u64> {
    let mut numbers = text.split_ascii_whitespace().skip(1).map(|number| number.parse::<u64>().ok());
    Some(numbers.next()??.saturating_sub(numbers.next()??))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_shared_is_nobodys_alone() {
        assert_eq!(super::private_pages("9000 700 650 1 0 60 0\n"), Some(50));
        assert_eq!(super::private_pages("9000 700"), None);
    }

    #[test]
    fn running_and_waiting_time_stand_first() {
        assert_eq!(super::times("123 456 7\n"), Some((123, 456)));
        assert_eq!(super::times(""), None);
    }
}
