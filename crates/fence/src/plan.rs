//! Changes that a fence would make: pure choice, from the facts that were read.

use fenxi_model::format_cpus;

use crate::{Cpus, Error, Irq, Means, Process};

/// Plan of changes to the machine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the process would be kept.
    pub cpus: Cpus,
    /// How.
    pub means: Means,
    /// Interrupts that would be moved, and where to.
    pub moves: Vec<Move>,
}

/// An interrupt that would be moved.
#[derive(Clone, Debug)]
pub struct Move {
    /// Its number.
    pub irq: u32,
    /// Who handles it.
    pub driver: String,
    /// Where it may go now.
    pub from: Cpus,
    /// Where it goes now, within `from`.
    pub effective: Option<Cpus>,
    /// Where it would go.
    pub to: Cpus,
}

impl Plan {
    /// Keeps `process` on the CPUs `wanted`, or on those that are best, and interrupts away from them.
    ///
    /// # Errors
    /// When the CPUs leave nothing for interrupts.
    pub(crate) fn make(
        process: &Process,
        irqs: &[Irq],
        online: &Cpus,
        wanted: Option<&Cpus>,
        means: Means,
    ) -> Result<Plan, Error> {
        let cpus = match wanted {
            Some(wanted) => wanted.clone(),
            None => choose(process, irqs, online)?,
        };
        let unknown: Cpus = cpus.difference(online).copied().collect();
        if cpus.is_empty() || !unknown.is_empty() {
            return Err(Error::NotOnline { online: format_cpus(online), wanted: format_cpus(&cpus) });
        }
        let outside: Cpus = online.difference(&cpus).copied().collect();
        if outside.is_empty() {
            return Err(Error::AllCpus(format_cpus(&cpus)));
        }
        let moves = irqs.iter().filter(|irq| !irq.allowed.is_disjoint(&cpus)).map(|irq| {
            let rest: Cpus = irq.allowed.difference(&cpus).filter(|cpu| online.contains(cpu)).copied().collect();
            Move {
                irq: irq.number,
                driver: irq.driver.clone(),
                from: irq.allowed.clone(),
                effective: irq.effective.clone().filter(|cpus| !cpus.is_empty()),
                to: if rest.is_empty() { outside.clone() } else { rest },
            }
        });
        Ok(Plan { moves: moves.collect(), cpus, means })
    }
}

/// The CPUs that the process is bound to, if it is; else as many as it keeps busy, those with the fewest interrupts.
fn choose(process: &Process, irqs: &[Irq], online: &Cpus) -> Result<Cpus, Error> {
    let allowed: Cpus = process.allowed().intersection(online).copied().collect();
    if online.len() < 2 {
        return Err(Error::OneCpu);
    }
    if !allowed.is_empty() && allowed.len() < online.len() {
        return Ok(allowed);
    }
    // More than half a CPU beside whole ones gets one for itself.
    let needed = process.busy.map_or(1, |busy| busy.round() as usize).clamp(1, online.len() - 1);
    let rate = |cpu: usize| irqs.iter().filter_map(|irq| irq.rate_on(&Cpus::from([cpu]))).sum::<f64>();
    let mut order: Vec<(f64, usize)> = online.iter().map(|cpu| (rate(*cpu), *cpu)).collect();
    // Among equals the last: the first CPU has housekeeping work.
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    Ok(order.into_iter().take(needed).map(|(_, cpu)| cpu).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fenxi_model::parse_cpus;

    use super::*;
    use crate::Thread;

    fn cpus(list: &str) -> Cpus {
        parse_cpus(list).unwrap()
    }

    fn process(allowed: &str, busy: f64) -> Process {
        let threads = vec![Thread { tid: 7, allowed: cpus(allowed), ran_on: Some(0) }];
        Process { pid: 7, began: 1, command: "db".to_owned(), threads, busy: Some(busy) }
    }

    fn irq(number: u32, allowed: &str, cpu: usize, rate: f64) -> Irq {
        Irq {
            number,
            driver: format!("driver-{number}"),
            allowed: cpus(allowed),
            effective: Some(Cpus::from([cpu])),
            per_s: Some(BTreeMap::from([(cpu, rate)])),
        }
    }

    fn plan(process: &Process, irqs: &[Irq], wanted: Option<&str>) -> Result<Plan, Error> {
        let wanted = wanted.map(cpus);
        Plan::make(process, irqs, &cpus("0-3"), wanted.as_ref(), Means::Affinity { why: String::new() })
    }

    #[test]
    fn a_free_process_gets_the_cpus_with_the_fewest_interrupts_that_it_needs() {
        let irqs = [irq(1, "0-3", 3, 900.0), irq(2, "0-3", 0, 5.0), irq(3, "1", 1, 10.0)];
        assert_eq!(plan(&process("0-3", 0.2), &irqs, None).unwrap().cpus, cpus("2"));
        assert_eq!(plan(&process("0-3", 2.6), &irqs, None).unwrap().cpus, cpus("0-2"));
        assert_eq!(plan(&process("0-3", 9.0), &irqs, None).unwrap().cpus, cpus("0-2"), "one is left for interrupts");
    }

    #[test]
    fn a_bound_process_stays_and_interrupts_go() {
        let irqs = [irq(1, "0-3", 3, 900.0), irq(2, "2-3", 3, 1.0), irq(3, "0-1", 1, 1.0)];
        let plan = plan(&process("2-3", 0.5), &irqs, None).unwrap();
        assert_eq!(plan.cpus, cpus("2-3"));
        let moves: Vec<_> = plan.moves.iter().map(|m| (m.irq, format_cpus(&m.to))).collect();
        assert_eq!(moves, [(1, "0-1".to_owned()), (2, "0-1".to_owned())], "the third one is away already");
    }

    #[test]
    fn fences_around_nothing_everything_or_elsewhere_are_refused() {
        let process = process("0-3", 1.0);
        for wanted in ["", "0-3", "2-9"] {
            assert!(plan(&process, &[], Some(wanted)).is_err(), "{wanted}");
        }
    }
}
