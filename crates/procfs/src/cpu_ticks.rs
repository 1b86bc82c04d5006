//! The `cpu` lines of `/proc/stat`: clock ticks of each CPU by state, since boot.

use crate::{
    Root,
    scan::{lines, number, words},
};

/// States in the order of the file.
pub const N_STATES: usize = 10;
/// User time, guests included.
pub const USER: usize = 0;
/// User time of niced tasks, their guests included.
pub const NICE: usize = 1;
/// Idle.
pub const IDLE: usize = 3;
/// Idle while a task waits for a disk.
pub const IOWAIT: usize = 4;
/// Wanted, and given to others by the hypervisor.
pub const STEAL: usize = 7;
/// Guests, which are in `USER` as well; all before it exclude each other.
pub const GUEST: usize = 8;
/// Niced guests, which are in `NICE` as well.
pub const GUEST_NICE: usize = 9;

/// Ticks per state: since boot, or in an interval. Only the first `n` states exist on this kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTicks {
    /// States that the kernel has.
    pub n: usize,
    /// Their ticks.
    pub of: [u64; N_STATES],
}

impl CpuTicks {
    /// Those of a `cpu` line; None when it has fewer than four numbers.
    pub fn parse(line: &[u8]) -> Option<CpuTicks> {
        let mut ticks = CpuTicks::default();
        for word in words(line).skip(1).take(N_STATES) {
            ticks.of[ticks.n] = number(word)?;
            ticks.n += 1;
        }
        (ticks.n > IDLE).then_some(ticks)
    }

    /// Those of all CPUs since boot; None where the file cannot be read.
    pub fn of_all(root: &Root) -> Option<CpuTicks> {
        let mut file = root.open("/proc/stat").ok()?;
        CpuTicks::parse(lines(file.read().ok()?).next().filter(|line| line.starts_with(b"cpu "))?)
    }

    /// All ticks.
    pub fn total(&self) -> u64 {
        self.of[..GUEST].iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Ticks that were used or taken by the hypervisor. Waiting for disks is not using.
    pub fn busy(&self) -> u64 {
        self.total().saturating_sub(self.of[IDLE]).saturating_sub(self.of[IOWAIT])
    }

    /// The share of CPU time that was used since `before`, from 0 to 1; None when no time has passed.
    pub fn busy_since(&self, before: &CpuTicks) -> Option<f64> {
        let passed = self.total().checked_sub(before.total()).filter(|passed| *passed > 0)?;
        // `iowait` may go back a little.
        Some((self.busy().saturating_sub(before.busy()) as f64 / passed as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_neither_idle_nor_waiting_nor_counted_twice() {
        let ticks = |line: &str| CpuTicks::parse(line.as_bytes()).unwrap();
        // usr 100 of which 60 are of a guest; nice 10, sys 30, idle 400, iowait 50, irq 1, softirq 2, steal 7.
        let (before, after) = (ticks("cpu  0 0 0 0"), ticks("cpu  100 10 30 400 50 1 2 7 60 0"));
        assert_eq!((after.total(), after.busy()), (600, 150));
        assert_eq!(after.busy_since(&before), Some(0.25));
        assert_eq!(after.busy_since(&after), None);
        assert_eq!(before.busy_since(&after), None);
        let huge = ticks(&format!("cpu  {0} {0} {0} {0} {0}", u64::MAX));
        assert_eq!(huge.total(), u64::MAX);
    }

    #[test]
    fn the_first_line_is_that_of_all_cpus() {
        let given = crate::Given::default();
        given.set("/proc/stat", b"cpu  4 0 0 6\ncpu0 1 0 0 9\n".to_vec());
        assert_eq!(CpuTicks::of_all(&Root::given(&given)).map(|ticks| ticks.busy()), Some(4));
        given.set("/proc/stat", b"cpu0 1 0 0 9\n".to_vec());
        assert_eq!(CpuTicks::of_all(&Root::given(&given)), None);
    }
}
