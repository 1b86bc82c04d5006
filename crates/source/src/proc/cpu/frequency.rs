//! The clock frequency of each CPU.
//!
//! x86 counts clock ticks while a CPU is not halted: at its actual frequency (APERF) and at a constant one (MPERF). With
//! the constant time stamp counter these give the mean frequency over the interval, by perf's `msr` events. On other machines
//! cpufreq has it at the end of the interval.

use fenxi_procfs::ProcFile;

use super::values::{FREQUENCY, Values};
use crate::{Root, Tick, perf::Event, proc::scan::number};

const DEVICE: &str = "/sys/bus/event_source/devices/msr";

/// The events APERF, MPERF and TSC in this order; None where a CPU or a virtual machine does not have them all.
pub fn events(root: &Root) -> Option<[Event; 3]> {
    let kind = root.read_text(&format!("{DEVICE}/type"))?.parse().ok()?;
    let event = |name: &str| {
        let text = root.read_text(&format!("{DEVICE}/events/{name}"))?;
        let config = u64::from_str_radix(text.strip_prefix("event=0x")?, 16).ok()?;
        Some(Event { kind, config })
    };
    Some([event("aperf")?, event("mperf")?, event("tsc")?])
}

/// Growth of the three counters in an interval.
#[derive(Clone, Copy, Debug)]
pub struct Actual {
    /// APERF.
    pub actual: u64,
    /// MPERF.
    pub maximum: u64,
    /// The time stamp counter, which goes on while the CPU is halted.
    pub tsc: u64,
}

impl Actual {
    /// The mean frequency while the CPU was not halted; None when it was all the time.
    pub fn hz(self, dt: f64) -> Option<f64> {
        // MPERF counts as fast as the time stamp counter does.
        (self.maximum > 0 && self.tsc > 0).then(|| self.actual as f64 / self.maximum as f64 * (self.tsc as f64 / dt))
    }
}

/// The frequency by cpufreq.
#[derive(Debug)]
pub struct Frequencies {
    /// None: it is not asked.
    root: Option<Root>,
    /// By number of the CPU; None: it has no such file.
    files: Vec<Option<ProcFile>>,
}

impl Frequencies {
    /// Reads at `root`, unless the counters have it or reading would take long.
    pub fn new(root: &Root) -> Frequencies {
        let asks = events(root).is_none() && !is_slow(root) && root.exists("/sys/devices/system/cpu/cpufreq");
        Frequencies { root: asks.then(|| root.clone()), files: Vec::new() }
    }

    /// Sets the columns of all CPUs.
    pub fn sample(&mut self, online: impl Iterator<Item = usize>, tick: Tick, values: &mut [Values]) {
        // Since boot there is no mean.
        let Some(root) = self.root.as_ref().filter(|_| !tick.since_boot) else { return };
        for n in online {
            while self.files.len() <= n {
                let path = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", self.files.len());
                self.files.push(root.open(&path).ok());
            }
            let khz = self.files[n].as_mut().and_then(|file| number(file.read().ok()?.trim_ascii()));
            if let (Some(khz), Some(values)) = (khz.filter(|khz| *khz > 0), values.get_mut(n)) {
                values[FREQUENCY] = Some(khz as f64 * 1e3);
            }
        }
    }
}

/// Whether the kernel is one that waits 10 ms to report the frequency of a CPU: that of x86 before 5.18.
fn is_slow(root: &Root) -> bool {
    let is_x86 = root.read_text("/proc/cpuinfo").is_none_or(|text| text.contains("vendor_id"));
    is_x86 && kernel(root).is_none_or(|version| version < (5, 18))
}

/// The first two numbers of the kernel's release.
pub fn kernel(root: &Root) -> Option<(u32, u32)> {
    let release = root.read_text("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(['.', '-', '+']).map_while(|word| word.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, near};

    #[test]
    fn the_mean_frequency_is_that_of_the_time_at_work() {
        // Half of a second at work, at 3.6 GHz instead of 2.4.
        near(Actual { actual: 1_800_000_000, maximum: 1_200_000_000, tsc: 2_400_000_000 }.hz(1.0), 3.6e9);
        assert_eq!(Actual { actual: 0, maximum: 0, tsc: 2_400_000_000 }.hz(1.0), None, "halted all the time");
    }

    #[test]
    fn the_events_are_where_the_kernel_lists_them() {
        let machine = Machine::new();
        machine.put(&format!("{DEVICE}/type"), "9\n").put(&format!("{DEVICE}/events/tsc"), "event=0x00\n");
        assert_eq!(events(&machine.root()), None, "a virtual machine has the time stamp counter only");
        machine.put(&format!("{DEVICE}/events/aperf"), "event=0x01\n");
        machine.put(&format!("{DEVICE}/events/mperf"), "event=0x02\n");
        let expected = [1, 2, 0].map(|config| Event { kind: 9, config });
        assert_eq!(events(&machine.root()), Some(expected));
    }

    #[test]
    fn old_kernels_of_x86_are_not_asked() {
        let machine = Machine::new();
        let slow = |release: &str, cpuinfo: &str| {
            machine.put("/proc/sys/kernel/osrelease", release).put("/proc/cpuinfo", cpuinfo);
            is_slow(&machine.root())
        };
        let (x86, arm) = ("vendor_id : GenuineIntel\n", "CPU implementer : 0x41\n");
        assert_eq!([slow("5.15.0-91-generic", x86), slow("5.18.0", x86), slow("6.1.0", x86)], [true, false, false]);
        assert_eq!([slow("4.14.0", arm), slow("unknown", arm), slow("unknown", x86)], [false, false, true]);
    }
}
