//! Work of ended processes in the interval: those that a sample saw alive, and those known by their exit record only.

use std::sync::Arc;

use fenxi_procfs::{TICK_NS, containers::Container};

use super::{KnownProcess, Processes, exited::Totals, exits::Ended};

/// A process that ended in the interval, and what it did in it; or several.
#[derive(Clone)]
pub struct Gone {
    pub ended: Ended,
    pub command: Option<Box<str>>,
    pub ns: u64,
    pub usr: u64,
    pub sys: u64,
    pub wait_ns: Option<u64>,
    pub block_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// True if no sample saw it.
    pub is_unseen: bool,
    /// In which it ran; of one that no sample saw, in which its parent does.
    pub container: Option<Arc<Container>>,
}

impl Processes {
    /// Remembers what a process that is gone had used when it was last seen, and what it did since.
    pub(super) fn bury(&mut self, pid: u32, known: Option<KnownProcess>) {
        let Some(known) = known else { return };
        self.n_kept -= usize::from(known.file.is_some());
        let shown_ns = known.clock_ns.unwrap_or_else(|| known.details.lifetime_ns(&known.stat));
        let record = self.records.remove(&pid);
        if !known.selected {
            return;
        }
        self.tree.ended(pid);
        let shown = Totals::from_stat(&known.stat, shown_ns) + Totals::of_children(&known.stat);
        self.exited.gone(pid, known.stat.ppid, Totals { io: known.details.io(), ..shown });
        let Some(mut ended) = record else { return };
        ended.cpu_ns = ended.cpu_ns.max(shown_ns);
        ended.comm = known.comm;
        let tick_us = TICK_NS / 1000;
        // Waits of threads that ended were shown as well, and are in no file any more.
        let shown_wait_ns = known.details.wait_ns().map(|of_threads| known.shown_wait_ns.unwrap_or(of_threads));
        let shown_block_ns = known.stat.io_wait_ticks.unwrap_or(0) * TICK_NS;
        self.gone.push(Gone {
            ns: ended.cpu_ns - shown_ns,
            usr: ended.usr_us.saturating_sub(known.stat.utime * tick_us),
            sys: ended.sys_us.saturating_sub(known.stat.stime * tick_us),
            wait_ns: shown_wait_ns.map(|shown| ended.wait_ns.saturating_sub(shown)),
            block_ns: ended.block_ns.saturating_sub(shown_block_ns),
            minor_faults: ended.minor_faults.saturating_sub(known.stat.minor_faults),
            major_faults: ended.major_faults.saturating_sub(known.stat.major_faults),
            command: known.command,
            is_unseen: false,
            container: known.container,
            ended,
        });
    }

    /// Takes up the records of processes that no sample saw.
    pub(super) fn bury_unseen(&mut self) {
        let unseen: Vec<u32> = self.records.keys().filter(|pid| !self.known.contains_key(pid)).copied().collect();
        let mut left: Vec<Ended> = unseen.iter().filter_map(|pid| self.records.remove(pid)).collect();
        self.adopt(&left);
        // A parent that ended unseen as well must be known before its children are.
        loop {
            let n = left.len();
            for ended in std::mem::take(&mut left) {
                if self.all || self.wanted.selection.wants_ended(&ended, self.is_wanted(ended.ppid)) {
                    self.tree.ended(ended.pid);
                    let container = self.known.get(&ended.ppid).and_then(|parent| parent.container.clone());
                    self.gone.push(Gone::unseen(ended, container));
                } else {
                    left.push(ended);
                }
            }
            if left.len() == n || !self.wanted.selection.descendants {
                return;
            }
        }
    }

    /// Finds those among ended processes that no sample saw that are ours: a parent may be among them, too.
    fn adopt(&mut self, ended: &[Ended]) {
        loop {
            let n = self.ours.len();
            let theirs = ended.iter().filter(|ended| self.ours.contains(&ended.ppid)).map(|ended| ended.pid);
            let theirs: Vec<u32> = theirs.collect();
            self.ours.extend(theirs);
            if self.ours.len() == n {
                return;
            }
        }
    }

    /// The role of a process as a label.
    pub(super) fn role(&self, pid: u32) -> Option<&'static str> {
        (self.ours.contains(&pid) && self.reader.own != Some(pid)).then_some("command")
    }
}

impl Gone {
    /// Takes in what another did.
    pub fn add(&mut self, other: &Gone) {
        self.ns += other.ns;
        self.usr += other.usr;
        self.sys += other.sys;
        self.wait_ns = self.wait_ns.zip(other.wait_ns).map(|(a, b)| a + b);
        self.block_ns += other.block_ns;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
    }

    fn unseen(ended: Ended, container: Option<Arc<Container>>) -> Gone {
        Gone {
            ns: ended.cpu_ns,
            usr: ended.usr_us,
            sys: ended.sys_us,
            wait_ns: Some(ended.wait_ns),
            block_ns: ended.block_ns,
            minor_faults: ended.minor_faults,
            major_faults: ended.major_faults,
            command: None,
            is_unseen: true,
            container,
            ended,
        }
    }
}
