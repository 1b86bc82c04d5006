//! `net_driver`: what drivers of network cards count for themselves: packets of each queue, and drops
//! that /proc/net/dev does not know.
//!
//! Some cards have thousands of counters: only those that moved in the interval have rows, and the
//! source is sampled only when it is asked for.

use fenxi_model::{Rows, catalog::net_driver};

use super::{keyed::Resets, roster::Roster, scan::lines};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width, ethtool::Ethtool};

const FILE: &str = "/proc/net/dev";

/// The `net_driver` source.
pub static SOURCE: NetDriver = NetDriver;

static SPEC: Spec = Spec {
    name: "net_driver",
    summary: "counters that network drivers keep for themselves, by queue (ethtool -S)",
    tables: &[&net_driver::TABLE],
    take: Take::EveryTick,
    default: false,
    live: false,
};

/// Collects the `net_driver` table.
pub struct NetDriver;

impl Source for NetDriver {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        if !root.is_live() {
            let why = "only the running system's drivers can be asked".to_owned();
            return Err(SourceError::Unavailable { what: "drivers' counters", why });
        }
        Ok(Box::new(Drivers { file: root.open(FILE)?, ethtool: Ethtool::open()?, roster: Roster::new() }))
    }
}

struct Drivers {
    file: ProcFile,
    ethtool: Ethtool,
    roster: Roster<Driver>,
}

/// The counters of one interface.
#[derive(Debug, Default)]
struct Driver {
    names: Vec<Box<str>>,
    counters: Vec<Counter>,
}

impl Collector for Drivers {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.roster.begin();
        for line in lines(self.file.read()?) {
            let Some(colon) = memchr::memrchr(b':', line) else { continue };
            let (member, _) = self.roster.member(line[..colon].trim_ascii(), |_| Driver::default());
            // An interface without its own counters, or that went a moment ago, has none to show.
            let Ok(values) = self.ethtool.counters(&member.name) else { continue };
            if values.len() != member.value.counters.len() {
                let values = values.to_vec();
                let names = self.ethtool.names(&member.name).unwrap_or_default();
                member.value = Driver { counters: vec![Counter::default(); names.len()], names: apart(names) };
                member.value.emit(&member.name, &values, tick, rows);
            } else {
                member.value.emit(&member.name, values, tick, rows);
            }
        }
        self.roster.end(|_| ());
        Ok(())
    }
}

impl Driver {
    fn emit(&mut self, interface: &str, values: &[u64], tick: Tick, rows: &mut Rows) {
        let mut resets = Resets::default();
        for ((counter, name), now) in self.counters.iter_mut().zip(&self.names).zip(values) {
            match tick.step(counter, *now, Width::Bits32) {
                Step::By(n) if n > 0 => {
                    let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { continue };
                    rows.row(&net_driver::TABLE, tick.t, dt)
                        .str(net_driver::interface, interface)
                        .str(net_driver::counter, &**name)
                        .f64(net_driver::growth_per_s, n as f64 / dt);
                }
                // Many drivers have gauges among their counters: those go back, and that is no event.
                Step::Reset if !is_gauge(name) => resets.add(name),
                _ => {}
            }
        }
        resets.report(interface, tick, rows);
    }
}

/// Whether a number with this name is known to go up and down.
fn is_gauge(name: &str) -> bool {
    ["ifindex", "inflight", "depth", "pages", "temp", "level", "_stop", "curr"].iter().any(|word| name.contains(word))
}

/// The names, those that a driver gave twice distinguished by their places.
fn apart(mut names: Vec<Box<str>>) -> Vec<Box<str>> {
    let mut seen = rustc_hash::FxHashSet::default();
    for (place, name) in names.iter_mut().enumerate() {
        if !seen.insert(name.clone()) {
            *name = format!("{name} #{place}").into();
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use fenxi_model::Rows;

    use super::{Driver, apart};
    use crate::{
        Counter, Tick,
        testing::{Machine, Observed, near},
    };

    fn of(driver: &mut Driver, values: &[u64], dt: Option<f64>) -> Observed {
        let mut rows = Rows::new("h");
        driver.emit("eth0", values, Tick::new(fenxi_model::Micros(1), dt), &mut rows);
        Observed::of(rows)
    }

    #[test]
    fn what_moved_has_a_row_and_what_went_back_an_event() {
        let names = apart(vec!["rx_q0_drops".into(), "tx".into(), "tx".into(), "pages_held".into()]);
        assert_eq!(*names[2], *"tx #2");
        let mut driver = Driver { counters: vec![Counter::default(); 4], names };
        of(&mut driver, &[1, 5, 7, 9], None);
        let seen = of(&mut driver, &[5, 5, 3, 2], Some(2.0));
        assert_eq!(seen.keys("net_driver"), [["eth0", "rx_q0_drops"]]);
        near(seen.value("net_driver", "growth_per_s", &["eth0", "rx_q0_drops"]), 2.0);
        assert_eq!(seen.events(), ["counter reset eth0: counter went back: tx #2"]);
    }

    #[test]
    fn a_saved_copy_has_no_drivers_to_ask() {
        let machine = Machine::new();
        machine.put("/proc/net/dev", "");
        assert!(machine.try_start(&super::SOURCE).is_err());
    }
}
