//! Finds the rate of an open loop before it begins: that at which this machine's CPUs are busy for a share (`cpu:50%`), or a
//! share of the highest throughput (`max:70%`).
//!
//! First the load is closed-loop for some seconds, which gives the highest throughput and what it costs. Open loops of a few
//! seconds follow, each at the rate at which the last one's CPU time would have been as wanted; what is measured here is no
//! part of the run's results.

use std::{ops::ControlFlow, str::FromStr};

use anyhow::bail;
use fenxi_load::{
    engine::{self, Interval, Plan, Settings, Watch},
    schedule::{Arrival, Rate, Schedule},
    server::Server,
};
use fenxi_source::Root;

use crate::{print, stop::Stop};

/// What is offered.
#[derive(Clone, Debug, PartialEq)]
pub enum Offered {
    /// A rate that is known.
    Rate(Rate),
    /// The rate at which this share of the machine's CPU time is used.
    Cpu(f64),
    /// This share of the highest throughput.
    Max(f64),
}

impl FromStr for Offered {
    type Err = String;

    fn from_str(text: &str) -> Result<Offered, String> {
        let Some((what, share)) = text.split_once(':') else {
            return Rate::parse(text).map(Offered::Rate).map_err(|error| error.to_string());
        };
        let number = share.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let share = number.filter(|percent| (1.0..=95.0).contains(percent)).map(|percent| percent / 100.0);
        match (what, share) {
            ("cpu", Some(share)) => Ok(Offered::Cpu(share)),
            ("max", Some(share)) => Ok(Offered::Max(share)),
            ("cpu" | "max", None) => Err(format!("expected a share from 1% to 95%, as {what}:50%")),
            _ => Err("expected a rate, `cpu:SHARE` or `max:SHARE`".to_owned()),
        }
    }
}

/// What a short load showed.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Transactions per second.
    per_s: f64,
    /// Share of the machine's CPU time that was used.
    cpu: f64,
}

/// Seconds of one load of which the first is not counted.
const SECONDS: f64 = 5.0;
/// Loads at most, after the closed one.
const TRIES: usize = 6;
/// A rate is taken when its share differs by this much at most.
const NEAR: f64 = 0.01;

/// The constant rate that is wanted.
///
/// # Errors
/// When the load fails, the share cannot be reached, or CPU time of the server's machine cannot be seen from here.
pub fn find(goal: &Offered, plan: &Plan, arrival: Arrival) -> anyhow::Result<Rate> {
    let wants_cpu = matches!(goal, Offered::Cpu(_));
    if wants_cpu && Server::find(&plan.endpoint).is_none() {
        bail!("`--rate cpu:` looks at this machine's CPUs, and the server is not seen on it; use `--rate max:70%`");
    }
    let stop = Stop::on_interrupt();
    let mut measure = |rate: Option<f64>| {
        let schedule = rate.map_or(Schedule::Closed, |rate| Schedule::Open { rate: Rate::constant(rate), arrival });
        let short = Plan {
            run: Settings { schedule, warmup_s: 0.0, duration_s: SECONDS, interval_s: 0.5, ..plan.run.clone() },
            ..plan.clone()
        };
        let mut watched = Watched { seen: Vec::new(), stop: &stop };
        engine::run_watched(&short, &mut watched)?;
        if stop.asked() {
            bail!("interrupted while the rate was looked for");
        }
        watched.measured()
    };
    let (rate, measured) = aim(goal, &mut measure)?;
    let share = match (goal, measured) {
        (Offered::Cpu(share), Some(found)) => {
            format!(
                "cpu:{:.0}%: {rate:.1}/s, at which {:.1} % of this machine's CPU time were used",
                100.0 * share,
                100.0 * found.cpu
            )
        }
        (Offered::Max(share), _) => {
            format!("max:{:.0}%: {rate:.1}/s, of {:.1}/s as fast as the connections allow", 100.0 * share, rate / share)
        }
        _ => format!("{rate:.1}/s"),
    };
    print::message(&share);
    Ok(Rate::constant(rate))
}

/// The search itself: `measure` makes a load of a rate, or a closed one.
fn aim(
    goal: &Offered,
    measure: &mut dyn FnMut(Option<f64>) -> anyhow::Result<Measured>,
) -> anyhow::Result<(f64, Option<Measured>)> {
    let most = measure(None)?;
    if most.per_s <= 0.0 {
        bail!("no transaction was completed while the rate was looked for");
    }
    let share = match goal {
        Offered::Max(share) => return Ok((most.per_s * share, None)),
        Offered::Cpu(share) => *share,
        Offered::Rate(_) => bail!("a rate that is given is not looked for"),
    };
    if most.cpu < share + NEAR {
        bail!(
            "as fast as {} allow, {:.0} % of this machine's CPU time are used, less than {:.0} %: raise --connections",
            "these connections",
            100.0 * most.cpu,
            100.0 * share
        );
    }
    // Two points of a line: what the machine uses without the load is not in proportion to it.
    let (mut below, mut above) = ((0.0, 0.0), (most.per_s, most.cpu));
    let mut best: Option<(f64, Measured)> = None;
    for _ in 0..TRIES {
        let (from, to) = (below, above);
        let slope = (to.1 - from.1) / (to.0 - from.0);
        let guess = from.0 + (share - from.1) / slope;
        // Within what is known, and away from its ends, so that a noisy end does not hold the search.
        let rate = guess.clamp(from.0 + 0.05 * (to.0 - from.0), to.0 - 0.02 * (to.0 - from.0));
        let found = measure(Some(rate))?;
        let is_nearer = best.is_none_or(|(_, before)| (found.cpu - share).abs() < (before.cpu - share).abs());
        if is_nearer {
            best = Some((rate, found));
        }
        if (found.cpu - share).abs() <= NEAR {
            break;
        }
        if found.cpu > share {
            above = (rate, found.cpu)
        } else {
            below = (rate, found.cpu)
        }
        if above.1 <= below.1 || above.0 - below.0 < 0.01 * above.0 {
            break;
        }
    }
    let Some((rate, found)) = best else { bail!("no rate was found") };
    if (found.cpu - share).abs() > 3.0 * NEAR {
        bail!(
            "no rate was found at which {:.0} % of the CPU time are used: the nearest had {:.0} %; is the machine busy with something else?",
            100.0 * share,
            100.0 * found.cpu
        );
    }
    Ok((rate, Some(found)))
}

/// Seconds of an interval, its transactions, and CPU time used and passed.
type Seen = (f64, u64, Option<(u64, u64)>);

/// Looks at a short load.
struct Watched<'a> {
    /// At the end of each interval.
    seen: Vec<Seen>,
    stop: &'a Stop,
}

impl Watch for Watched<'_> {
    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.seen.push((interval.end_s, interval.tally.transactions, cpu_ticks(&Root::live())));
        ControlFlow::Continue(())
    }

    fn wants_end(&mut self) -> bool {
        self.stop.asked()
    }
}

impl Watched<'_> {
    /// What was measured from the first second on.
    fn measured(&self) -> anyhow::Result<Measured> {
        let counted: Vec<_> = self.seen.iter().skip_while(|(end_s, ..)| *end_s < 0.99).collect();
        let ([first, .., last], true) = (counted.as_slice(), counted.len() > 2) else {
            bail!("the load ended before anything could be measured");
        };
        let transactions: u64 = counted[1..].iter().map(|(_, transactions, _)| transactions).sum();
        let cpu = match (first.2, last.2) {
            (Some((busy, all)), Some((later_busy, later_all))) if later_all > all => {
                later_busy.saturating_sub(busy) as f64 / (later_all - all) as f64
            }
            _ => bail!("/proc/stat cannot be read: what the CPUs did is unknown"),
        };
        Ok(Measured { per_s: transactions as f64 / (last.0 - first.0), cpu })
    }
}

/// Ticks of all CPUs that were used, and all of them. Waiting for disks is not using; what the hypervisor took is.
fn cpu_ticks(root: &Root) -> Option<(u64, u64)> {
    let text = root.read_text("/proc/stat")?;
    let words = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    // Guests are in user time already.
    let ticks: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    Some((all - ticks.get(3)? - ticks.get(4)?, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_or_a_share_is_offered() {
        assert_eq!("cpu:50%".parse(), Ok(Offered::Cpu(0.5)));
        assert_eq!("max:70%".parse(), Ok(Offered::Max(0.7)));
        assert_eq!("500".parse(), Ok(Offered::Rate(Rate::constant(500.0))));
        for wrong in ["cpu:50", "cpu:100%", "max:0%", "mem:50%", "cpu:", "fast"] {
            assert!(wrong.parse::<Offered>().is_err(), "{wrong}");
        }
    }

    /// A machine of which CPU time grows with the rate, more than in proportion near its end, with noise.
    fn machine(idle: f64, most: f64, curve: f64) -> impl FnMut(Option<f64>) -> anyhow::Result<Measured> {
        let mut random = fenxi_analyze::Random::new(5);
        move |rate| {
            let per_s = rate.unwrap_or(most).min(most);
            let share = per_s / most;
            let cpu = idle + (0.96 - idle) * (share + curve * share * (share - 1.0));
            Ok(Measured { per_s, cpu: cpu + 0.004 * (random.unit() - 0.5) })
        }
    }

    #[test]
    fn the_rate_of_a_share_of_cpu_time_is_found() {
        for (idle, curve) in [(0.0, 0.0), (0.05, 0.3), (0.2, -0.4), (0.02, 0.6)] {
            for goal in [0.3, 0.5, 0.8] {
                let mut measure = machine(idle, 4000.0, curve);
                let (rate, found) = aim(&Offered::Cpu(goal), &mut measure).unwrap();
                assert!((found.unwrap().cpu - goal).abs() <= 0.02, "{idle} {curve} {goal}: {rate} {found:?}");
            }
        }
        let (rate, _) = aim(&Offered::Max(0.7), &mut machine(0.0, 1000.0, 0.0)).unwrap();
        assert!((rate - 700.0).abs() < 1e-9);
    }

    #[test]
    fn a_share_that_is_not_reached_is_refused_with_the_way_out() {
        let mut few = |_: Option<f64>| Ok(Measured { per_s: 100.0, cpu: 0.3 });
        let refused = aim(&Offered::Cpu(0.5), &mut few).unwrap_err().to_string();
        assert!(refused.contains("raise --connections"), "{refused}");
        let mut nothing = |_: Option<f64>| Ok(Measured { per_s: 0.0, cpu: 0.3 });
        assert!(aim(&Offered::Max(0.5), &mut nothing).is_err());
        // Something else takes the CPUs, whatever is offered.
        let mut busy = |rate: Option<f64>| Ok(Measured { per_s: rate.unwrap_or(100.0), cpu: 0.9 });
        assert!(aim(&Offered::Cpu(0.5), &mut busy).unwrap_err().to_string().contains("busy with something else"));
    }
}
