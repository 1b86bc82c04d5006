//! How the kernel really accounts for user and system time: found out by watching it, since the options
//! it was built with do not show it (`VIRT_CPU_ACCOUNTING_GEN` is exact on `nohz_full` CPUs only).

use std::time::{Duration, Instant};

use fenxi_model::cpu_ranges;
use rustix::{
    thread::sched_getcpu,
    time::{ClockId, clock_getres},
};

use crate::Root;

/// CPU time accounting of the kernel: by ticks or precise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountingKind {
    /// Sampled: the task that runs when the timer ticks is charged a whole tick.
    Tick,
    /// Measured at each change between user code, kernel and idleness.
    Exact,
    /// One on some CPUs, the other on others.
    Mixed,
}

impl AccountingKind {
    /// The label in the column `accounting`.
    pub fn name(self) -> &'static str {
        match self {
            AccountingKind::Tick => "tick",
            AccountingKind::Exact => "exact",
            AccountingKind::Mixed => "mixed",
        }
    }
}

/// Kind of CPU time accounting of the kernel, detected at the start.
#[derive(Clone, Debug)]
pub struct Accounting {
    /// On the CPU that was looked at.
    seen: Option<AccountingKind>,
    cpu: usize,
    /// CPUs of `nohz_full`, first and last of each range.
    full: Vec<(usize, usize)>,
}

/// CPU time of the calling thread as usr and sys count it, in nanoseconds: the sum of what the tick
/// charged where time is sampled. The kernel scales what it shows in /proc/PID/stat and getrusage(2) to
/// the measured sum; this clock is as it was counted. None where there is no such clock.
pub fn thread_ticks_ns() -> Option<u64> {
    // From the kernel's CPUCLOCK_PROF (0) and CPUCLOCK_PERTHREAD_MASK (4) for thread 0, the caller.
    const THREAD_PROF: i32 = (!0 << 3) | 4;
    fenxi_sys::clock::ns(THREAD_PROF)
}

/// Nanoseconds between two ticks of the timer (1/HZ); None where the system does not report it.
pub fn timer_tick_ns() -> Option<u64> {
    let step = clock_getres(ClockId::MonotonicCoarse);
    let ns =
        u64::try_from(step.tv_sec).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(step.tv_nsec).ok()?)?;
    Some(ns).filter(|ns| *ns > 0)
}

/// As many changes of the clock decide.
const ENOUGH: usize = 20;
/// After so long without a decision there is none: a CPU that others need all the time.
const PATIENCE: Duration = Duration::from_millis(200);

/// Burns CPU time, some ticks at most, and watches how this thread's usr and sys grow.
///
/// A tick charges exactly its length (less what the hypervisor stole); a measure is hardly ever just that.
pub(super) fn watch_a_spinning_thread() -> Option<AccountingKind> {
    let tick = timer_tick_ns()?;
    let begun = Instant::now();
    let mut last = thread_ticks_ns()?;
    let mut changes = 0;
    while changes < ENOUGH && begun.elapsed() < PATIENCE {
        let now = thread_ticks_ns()?;
        if now == last {
            continue;
        }
        if now - last == tick {
            return Some(AccountingKind::Tick);
        }
        changes += 1;
        last = now;
    }
    (changes == ENOUGH).then_some(AccountingKind::Exact)
}

impl Accounting {
    /// Watches the running system; nothing is known about a saved one.
    pub fn observe(root: &Root) -> Accounting {
        let list = root.read_text("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
        let seen = if root.is_live() { watch_a_spinning_thread() } else { None };
        Accounting { seen, cpu: sched_getcpu(), full: cpu_ranges(&list) }
    }

    /// On CPU `cpu`.
    pub fn of_cpu(&self, cpu: usize) -> Option<AccountingKind> {
        match (self.is_full(cpu), self.is_full(self.cpu)) {
            (this, looked_at) if this == looked_at => self.seen,
            (true, _) => self.seen.map(|_| AccountingKind::Exact),
            (false, _) => self.seen.map(|_| AccountingKind::Tick),
        }
    }

    /// On all of the CPUs below `n`.
    pub fn of_all(&self, n: usize) -> Option<AccountingKind> {
        let first = self.of_cpu(0)?;
        let same = (1..n).all(|cpu| self.of_cpu(cpu) == Some(first));
        Some(if same { first } else { AccountingKind::Mixed })
    }

    fn is_full(&self, cpu: usize) -> bool {
        self.full.iter().any(|(first, last)| (*first..=*last).contains(&cpu))
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::cpu_ranges;

    use super::{Accounting, AccountingKind, thread_ticks_ns, watch_a_spinning_thread};

    #[test]
    fn cpus_without_a_tick_are_told_apart() {
        let accounting = Accounting { seen: Some(AccountingKind::Tick), cpu: 0, full: cpu_ranges("1-3") };
        assert_eq!(accounting.of_cpu(0), Some(AccountingKind::Tick));
        assert_eq!(accounting.of_cpu(3), Some(AccountingKind::Exact));
        assert_eq!(
            (accounting.of_all(1), accounting.of_all(4)),
            (Some(AccountingKind::Tick), Some(AccountingKind::Mixed))
        );
        let accounting = Accounting { seen: Some(AccountingKind::Exact), cpu: 2, full: cpu_ranges("2") };
        assert_eq!(
            (accounting.of_cpu(2), accounting.of_cpu(1)),
            (Some(AccountingKind::Exact), Some(AccountingKind::Tick))
        );
        let unknown = Accounting { seen: None, cpu: 0, full: cpu_ranges("1") };
        assert_eq!((unknown.of_cpu(1), unknown.of_all(2)), (None, None));
    }

    #[test]
    fn a_spinning_thread_shows_how_this_kernel_counts() {
        let before = thread_ticks_ns().unwrap();
        let seen = watch_a_spinning_thread();
        // A CPU that is wanted by many may not decide it, but what is decided does not contradict itself.
        if seen.is_some() {
            assert!(thread_ticks_ns().unwrap() > before);
            let again = watch_a_spinning_thread();
            assert!(again.is_none() || again == seen, "{seen:?}, then {again:?}");
        }
    }
}
