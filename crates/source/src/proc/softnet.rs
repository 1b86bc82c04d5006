//! `softnet`: what the network stack did with received packets on each CPU, from /proc/net/softnet_stat.
//!
//! The file has a line of hexadecimal numbers for each CPU that is on line; newer kernels print more of
//! them. Each counter is 32 bits wide.

use fenxi_model::{Place, Rows, catalog::softnet, place::F64};

use super::{
    keyed::Resets,
    scan::{lines, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

const FILE: &str = "/proc/net/softnet_stat";

/// Places of the numbers in a line.
const PACKETS: usize = 0;
const DROPS: usize = 1;
const SQUEEZES: usize = 2;
const RPS: usize = 9;
const FLOW_LIMITS: usize = 10;
const BACKLOG: usize = 11;
const CPU: usize = 12;

/// The counters among them, in the order of [`Cpu::counters`].
const COUNTERS: [(usize, Place<softnet::Schema, F64>); 5] = [
    (PACKETS, softnet::packets_per_s),
    (DROPS, softnet::drops_per_s),
    (SQUEEZES, softnet::squeezes_per_s),
    (RPS, softnet::rps_per_s),
    (FLOW_LIMITS, softnet::flow_limits_per_s),
];

/// The `softnet` source.
pub static SOURCE: Softnet = Softnet;

static SPEC: Spec = Spec {
    name: "softnet",
    summary: "received packets by CPU: processed, dropped, squeezed (/proc/net/softnet_stat)",
    tables: &[&softnet::TABLE],
    take: Take::EveryTick,
    default: false,
    live: true,
};

/// Collects the `softnet` table.
pub struct Softnet;

impl Source for Softnet {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Stack { file: root.open(FILE)?, cpus: Vec::new(), round: 0, noted: false }))
    }
}

struct Stack {
    file: ProcFile,
    /// By number of the CPU.
    cpus: Vec<Cpu>,
    round: u64,
    noted: bool,
}

struct Cpu {
    name: Box<str>,
    counters: [Counter; COUNTERS.len()],
    /// The last sample that had it: one that was away begins anew.
    seen: u64,
}

impl Collector for Stack {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.round += 1;
        let mut resets = Resets::default();
        for (i, line) in lines(self.file.read()?).enumerate() {
            let mut numbers = [None; CPU + 1];
            for (number, word) in numbers.iter_mut().zip(words(line)) {
                *number = hexadecimal(word);
            }
            let number = numbers[CPU].map_or(i, |n| n as usize);
            if numbers[PACKETS].is_none() || number > 65_535 {
                if !std::mem::replace(&mut self.noted, true) {
                    rows.note(FILE, i as u64 + 1, "not a line of hexadecimal numbers; it is left out");
                }
                continue;
            }
            for n in self.cpus.len()..=number {
                self.cpus.push(Cpu { name: n.to_string().into(), counters: Default::default(), seen: 0 });
            }
            let cpu = &mut self.cpus[number];
            if cpu.seen + 1 != self.round {
                cpu.counters = Default::default();
            }
            let new = cpu.seen + 1 != self.round && !tick.since_boot;
            cpu.seen = self.round;
            cpu.emit(&numbers, tick, new, rows, &mut resets);
        }
        resets.report("softnet", tick, rows);
        Ok(())
    }
}

impl Cpu {
    fn emit(&mut self, numbers: &[Option<u64>; CPU + 1], tick: Tick, new: bool, rows: &mut Rows, resets: &mut Resets) {
        let mut rates = [None; COUNTERS.len()];
        for (k, (place, _)) in COUNTERS.iter().enumerate() {
            let Some(now) = numbers[*place] else { continue };
            match tick.step(&mut self.counters[k], now, Width::Bits32) {
                Step::By(n) => rates[k] = tick.dt.filter(|dt| *dt > 0.0).map(|dt| n as f64 / dt),
                Step::Reset => resets.add(&self.name),
                Step::First => {}
            }
        }
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && !new) else { return };
        let mut row = rows.row(&softnet::TABLE, tick.t, dt);
        row.str(softnet::cpu, &*self.name).f64(softnet::backlog, numbers[BACKLOG].map(|n| n as f64));
        for ((_, column), rate) in COUNTERS.iter().zip(rates) {
            row.f64(*column, rate);
        }
    }
}

/// A number of at most eight hexadecimal digits.
fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(word).ok()?;
    u32::from_str_radix(digits, 16).ok().map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::{FILE, SOURCE};
    use crate::testing::{Machine, near};

    fn line(packets: &str, drops: u32, squeezes: u32, cpu: u32) -> String {
        let zero = "00000000 ".repeat(6);
        format!("{packets} {drops:08x} {squeezes:08x} {zero}0000000a 00000000 00000003 {cpu:08x} 00000000 00000000\n")
    }

    #[test]
    fn each_cpu_has_its_rates_and_a_wrap_is_growth() {
        let machine = Machine::new();
        machine.put(FILE, line("fffffffe", 1, 2, 0) + &line("00000000", 0, 0, 4));
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put(FILE, line("00000008", 5, 2, 0) + &line("00000014", 0, 6, 4));
        let seen = session.tick(2.0);
        assert_eq!(seen.keys("softnet"), [["0"], ["4"]]);
        near(seen.value("softnet", "packets_per_s", &["0"]), 5.0);
        near(seen.value("softnet", "drops_per_s", &["0"]), 2.0);
        near(seen.value("softnet", "squeezes_per_s", &["0"]), 0.0);
        near(seen.value("softnet", "squeezes_per_s", &["4"]), 3.0);
        near(seen.value("softnet", "backlog", &["4"]), 3.0);
        assert!(seen.events().is_empty());
    }

    #[test]
    fn old_kernels_have_fewer_numbers_and_no_number_of_the_cpu() {
        let machine = Machine::new();
        let text = |n: u32| format!("{n:08x} 00000000 00000001 0 0 0 0 0 00000000\n");
        machine.put(FILE, text(16) + &text(32));
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put(FILE, text(17) + &text(48));
        let seen = session.tick(1.0);
        near(seen.value("softnet", "packets_per_s", &["1"]), 16.0);
        assert_eq!(seen.value("softnet", "backlog", &["1"]), None);
        assert_eq!(seen.value("softnet", "flow_limits_per_s", &["1"]), None);
    }

    #[test]
    fn a_cpu_that_comes_back_has_no_row_at_first_and_nonsense_is_noted_once() {
        let machine = Machine::new();
        machine.put(FILE, line("00000010", 0, 0, 0) + &line("00000010", 0, 0, 1));
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put(FILE, line("00000020", 0, 0, 0));
        assert_eq!(session.tick(1.0).keys("softnet"), [["0"]]);
        session.machine.put(FILE, line("00000030", 0, 0, 0) + &line("00000030", 0, 0, 1));
        assert_eq!(session.tick(1.0).keys("softnet"), [["0"]]);
        session.machine.put(FILE, "what is this\n");
        assert_eq!(session.tick(1.0).notes().len(), 1);
        assert_eq!(session.tick(1.0).notes().len(), 0);
    }
}
