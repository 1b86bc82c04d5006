//! Rows of processes: those that did something, those that ended, and what no row holds.

use std::collections::BTreeMap;

use fenxi_model::{
    Row, Rows,
    catalog::process::{self, TABLE},
};
use fenxi_procfs::{TICK_NS, containers::Container, scan, stat::split_as};

use super::{
    Active, KnownProcess, LOOK_AGAIN, Processes,
    details::Measured,
    exited::Totals,
    gone::Gone,
    io::{FIGURES, Io},
    state_name,
    threads::{Owner, Threads},
    times::Children,
};
use crate::Tick;

/// Name, user, role and container of processes that have one row together.
type Alike<'a> = (&'a str, u32, Option<&'a str>, Option<&'a Container>);

impl Processes {
    pub(super) fn emit(&mut self, tick: Tick, dt: f64, rows: &mut Rows) {
        let parents =
            self.active.iter().filter(|a| a.children.ns > 0 || a.children.io != Io::NONE).map(|a| (a.pid, a.children));
        let rest = self.exited.settle(parents);
        let uptime_s = if self.wanted.names { self.uptime_s() } else { None };
        let mut shown_ns = 0;
        for at in 0..self.active.len() {
            shown_ns += self.emit_active(at, uptime_s, tick, dt, rows);
        }
        shown_ns += self.gone.iter().map(|gone| gone.ns).sum::<u64>();
        let selected = self.known.values().filter(|k| k.selected);
        let tree = self.tree.rest(shown_ns, selected.clone()).map(|mut tree| match &mut self.gone[..] {
            // The remainder belongs to the only one that ended.
            [only] if selected.clone().next().is_none() => {
                only.ns += std::mem::take(&mut tree.usr_ns) + std::mem::take(&mut tree.sys_ns);
                tree
            }
            _ => tree,
        });
        let gone = std::mem::take(&mut self.gone);
        let together = |gone: &&Gone| gone.is_unseen && !self.wanted.names;
        let (unseen, seen): (Vec<&Gone>, Vec<&Gone>) = gone.iter().partition(together);
        seen.into_iter().for_each(|gone| self.emit_gone(gone, 1, tick, dt, rows));
        self.emit_unseen(&unseen, tick, dt, rows);
        self.gone = gone;
        self.emit_rest(rest, tree, tick, dt, rows);
        self.exited.clear();
    }

    /// Seconds from the boot to now.
    fn uptime_s(&mut self) -> Option<f64> {
        let text = self.uptime.as_mut()?.read().ok()?;
        scan::decimal(scan::words(text.trim_ascii()).next()?)
    }

    /// The row of a process that is there; gives its CPU time in nanoseconds.
    fn emit_active(&mut self, at: usize, uptime_s: Option<f64>, tick: Tick, dt: f64, rows: &mut Rows) -> u64 {
        let role = self.role(self.active[at].pid);
        let active = &self.active[at];
        // A process that began and ended, or was replaced, within this very sample.
        let start = active.before.start;
        let Some(known) = self.known.get_mut(&active.pid).filter(|k| k.stat.start == start) else { return 0 };
        let children_ns = self.exited.of_parent(active.pid);
        let Active { pid, before, work, .. } = active;
        let minor = known.stat.minor_faults.saturating_sub(before.minor_faults);
        let major = known.stat.major_faults.saturating_sub(before.major_faults);
        let did_io = work.io.is_some_and(|io| io.iter().any(|n| *n > 0));
        let asked_for = self.wanted.names && !self.all;
        if work.cpu_ns + minor + major + children_ns == 0 && !did_io && !asked_for {
            return 0;
        }
        if self.wanted.names {
            known.details.uid = known.details.uid.or_else(|| self.reader.uid(*pid));
            if known.command.is_none() {
                known.command = self.reader.command(*pid).map(Into::into);
            }
        }
        if !self.reader.cpu_only {
            known.files.look(&mut self.reader, *pid);
        }
        // A runtime moves a process into its group after it began.
        let look = known.looked_as.as_deref() != Some(&*known.comm)
            || known.container.is_none() && self.round.is_multiple_of(LOOK_AGAIN);
        if !self.reader.cpu_only && self.containers.any() && look {
            known.looked_as = Some(known.comm.clone());
            known.container = self.reader.group(*pid).and_then(|path| self.containers.of(path));
        }
        let (cpu_pct, per_s) = (|ns: u64| ns as f64 / 1e7 / dt, |n: u64| n as f64 / dt);
        let (known, stat) = (&*known, &known.stat);
        let (usr_ns, sys_ns) = stat.split(before, work.cpu_ns);
        let mut row = rows.row(&TABLE, tick.t, dt);
        row.i64(process::pid, i64::from(*pid))
            .str(process::comm, &*known.comm)
            .str(process::user, known.details.uid.map(|uid| self.users.name(uid)))
            .i64(process::ppid, i64::from(stat.ppid))
            .str(process::role, role)
            .f64(process::usr, cpu_pct(usr_ns))
            .f64(process::sys, cpu_pct(sys_ns))
            .f64(process::cpu, cpu_pct(work.cpu_ns))
            .f64(process::run_queue_wait, work.wait_ns.map(cpu_pct))
            .f64(process::children_cpu, cpu_pct(children_ns))
            .f64(process::minor_faults_per_s, per_s(minor))
            .f64(process::major_faults_per_s, per_s(major));
        name_container(&mut row, known.container.as_deref());
        if self.delays
            && let (Some(now), Some(then)) = (stat.io_wait_ticks, before.io_wait_ticks.or(Some(0)))
        {
            row.f64(process::io_wait, cpu_pct(now.saturating_sub(then) * TICK_NS));
        }
        state(&mut row, known, work.measured);
        activity(&mut row, work, per_s);
        if self.wanted.names {
            let start_s = stat.start as f64 * TICK_NS as f64 / 1e9;
            row.str(process::command, known.command.as_deref())
                .f64(process::lived_s, uptime_s.map(|now| (now - start_s).max(0.0)));
        }
        work.cpu_ns
    }

    /// Rows of processes that no sample saw: those of one name, user and role have one together.
    fn emit_unseen(&mut self, unseen: &[&Gone], tick: Tick, dt: f64, rows: &mut Rows) {
        let mut groups: BTreeMap<Alike<'_>, (Gone, u64)> = BTreeMap::new();
        for gone in unseen {
            let key = (&*gone.ended.comm, gone.ended.uid, self.role(gone.ended.pid), gone.container.as_deref());
            match groups.get_mut(&key) {
                Some((sum, n)) => {
                    sum.add(gone);
                    *n += 1;
                }
                None => {
                    groups.insert(key, ((*gone).clone(), 1));
                }
            }
        }
        for (group, n) in groups.into_values() {
            self.emit_gone(&group, n, tick, dt, rows);
        }
    }

    /// The row of a process that ended, or of `n` of one kind.
    fn emit_gone(&mut self, gone: &Gone, n: u64, tick: Tick, dt: f64, rows: &mut Rows) {
        let ended = &gone.ended;
        let (usr, sys) = if gone.usr + gone.sys > 0 { (gone.usr, gone.sys) } else { (ended.usr_us, ended.sys_us) };
        let (usr_ns, sys_ns) = split_as(gone.ns, usr, sys);
        let pct = |ns: u64| ns as f64 / 1e7 / dt;
        let (role, is_one) = (self.role(ended.pid), n == 1);
        let mut row = rows.row(&TABLE, tick.t, dt);
        name_container(&mut row, gone.container.as_deref());
        row.i64(process::pid, is_one.then_some(i64::from(ended.pid)))
            .str(process::comm, &*ended.comm)
            .str(process::user, self.users.name(ended.uid))
            .i64(process::ppid, is_one.then_some(i64::from(ended.ppid)))
            .str(process::role, role)
            .f64(process::io_wait, self.delays.then(|| pct(gone.block_ns)))
            .f64(process::usr, pct(usr_ns))
            .f64(process::sys, pct(sys_ns))
            .f64(process::cpu, pct(gone.ns))
            .f64(process::run_queue_wait, gone.wait_ns.map(pct))
            .f64(process::minor_faults_per_s, gone.minor_faults as f64 / dt)
            .f64(process::major_faults_per_s, gone.major_faults as f64 / dt)
            .str(process::state, "X")
            .str(process::command, gone.command.as_deref())
            .f64(process::lived_s, is_one.then_some(ended.lived_s))
            .str(process::cpu_measured, Measured::Record.name());
    }

    /// The row of what ended processes used and no other row holds.
    fn emit_rest(&mut self, settled: Totals, tree: Option<Children>, tick: Tick, dt: f64, rows: &mut Rows) {
        let mut rest = settled;
        let mut measured = Measured::Ticks;
        let records: u64 = self.gone.iter().map(|g| g.ns).sum();
        if let Some(tree) = tree {
            rest = Totals { ns: tree.usr_ns + tree.sys_ns, utime: tree.usr_ns, stime: tree.sys_ns, ..settled };
            measured = Measured::Rusage;
        } else if !self.all {
            // The use of children of chosen processes was not asked for.
            return;
        } else if self.exits.is_some() {
            // Parents' times are cut to ticks: only what exceeds that is more than in the records.
            let slack = 2 * TICK_NS as i64;
            self.balance_ns = (self.balance_ns + rest.ns as i64 - records as i64).max(-slack);
            rest.ns = if self.balance_ns >= slack { std::mem::take(&mut self.balance_ns) as u64 } else { 0 };
        }
        if self.exits.is_some() {
            (rest.minor_faults, rest.major_faults) = (0, 0);
        }
        if rest.ns + rest.minor_faults + rest.major_faults == 0 && !rest.io.is_any() {
            return;
        }
        let (usr_ns, sys_ns) = rest.split();
        let cpu_pct = |ns: u64| ns as f64 / 1e7 / dt;
        let mut row = rows.row(&TABLE, tick.t, dt);
        io(&mut row, rest.io.0, |n| n as f64 / dt);
        row.str(process::comm, "(exited)")
            .f64(process::usr, cpu_pct(usr_ns))
            .f64(process::sys, cpu_pct(sys_ns))
            .f64(process::cpu, cpu_pct(rest.ns))
            .f64(process::minor_faults_per_s, rest.minor_faults as f64 / dt)
            .f64(process::major_faults_per_s, rest.major_faults as f64 / dt)
            .str(process::cpu_measured, measured.name());
    }

    /// Rows of the threads of all that ran; at the first sample, threads are only remembered.
    pub(super) fn emit_threads(&mut self, tick: Tick, rows: &mut Rows) {
        let ran: Vec<(u32, bool)> = match tick.dt {
            Some(_) => self.active.iter().map(|a| (a.pid, a.before.threads == 0)).collect(),
            None => self.known.iter().filter(|(_, k)| k.selected).map(|(pid, _)| (*pid, false)).collect(),
        };
        for (pid, begun) in ran {
            let Some(known) = self.known.get_mut(&pid) else { continue };
            let user = known.details.uid.map(|uid| self.users.name(uid));
            let threads = known.threads.get_or_insert_with(|| Box::new(Threads::default()));
            threads.sample(&mut self.reader, &Owner { pid, user, begun }, tick, rows);
        }
    }
}

/// State of the process at this moment.
fn state(row: &mut Row<'_, process::Schema>, known: &KnownProcess, measured: Measured) {
    let stat = &known.stat;
    row.f64(process::rss_bytes, stat.rss_bytes as f64)
        .f64(process::vsz_bytes, stat.vsz_bytes as f64)
        .f64(process::threads, stat.threads as f64)
        .f64(process::fds, known.files.open.map(|n| n as f64))
        .f64(process::fd_limit, known.files.limit.map(|n| n as f64))
        .f64(process::cpus_allowed, known.details.cpus_allowed.map(f64::from))
        .i64(process::last_cpu, stat.last_cpu.map(i64::from))
        .str(process::state, state_name(stat.state))
        .f64(process::priority, stat.priority as f64)
        .str(process::cpu_measured, measured.name());
}

/// Activity of the process besides using CPUs.
fn activity(row: &mut Row<'_, process::Schema>, work: &super::details::ProcessWork, per_s: impl Fn(u64) -> f64) {
    io(row, work.io, &per_s);
    if let Some((voluntary, involuntary)) = work.switches {
        row.f64(process::voluntary_switches_per_s, per_s(voluntary))
            .f64(process::involuntary_switches_per_s, per_s(involuntary));
    }
}

/// Amounts read and written, where they are known.
fn io(row: &mut Row<'_, process::Schema>, figures: Option<[u64; FIGURES]>, per_s: impl Fn(u64) -> f64) {
    let Some([read, write, read_call, write_call, reads, writes]) = figures else { return };
    row.f64(process::read_bytes_per_s, per_s(read))
        .f64(process::write_bytes_per_s, per_s(write))
        .f64(process::read_call_bytes_per_s, per_s(read_call))
        .f64(process::write_call_bytes_per_s, per_s(write_call))
        .f64(process::read_calls_per_s, per_s(reads))
        .f64(process::write_calls_per_s, per_s(writes));
}

fn name_container(row: &mut Row<'_, process::Schema>, container: Option<&Container>) {
    let Some(Container { name, pod, namespace, image }) = container else { return };
    row.str(process::container, name.as_deref())
        .str(process::pod, pod.as_deref())
        .str(process::namespace, namespace.as_deref())
        .str(process::image, image.as_deref());
}
