//! Finds the rate of an open loop before it begins: that at which this machine's CPUs are busy for a share (`cpu:50%`), or a
//! share of the highest throughput (`max:70%`).
//!
//! First the load is closed-loop for some seconds, which gives the highest throughput and what it costs. Open loops of a few
//! seconds follow, each at the rate that a line through what was seen so far gives for the wanted share; what is measured here is no
//! part of the run's results.

use std::{ops::ControlFlow, str::FromStr};

use anyhow::bail;
use fenxi_load::{
    engine::{self, Interval, Plan, Settings, Watch},
    schedule::{Arrival, Rate, Schedule},
    server::Server,
};
use fenxi_procfs::{Root, cpu_ticks::CpuTicks};

use crate::{print, stop::Stop};

/// The offered load.
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

/// Result of a short load.
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
/// Shares, and rates, that differ by this much are the same.
const NEAR: f64 = 0.015;
/// A rate whose share differs by more is none.
const FAR: f64 = 0.04;

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
            "as fast as these connections allow, {:.0} % of this machine's CPU time are used, less than {:.0} %: raise --connections",
            100.0 * most.cpu,
            100.0 * share
        );
    }
    let mut seen = vec![most];
    let mut rate = nearest_line(&seen, share);
    for tried in 1..=TRIES {
        let found = Measured { per_s: rate, ..measure(Some(rate))? };
        let was_near = seen.last().is_some_and(|before| (before.cpu - share).abs() <= NEAR);
        seen.push(found);
        let better = nearest_line(&seen, share).min(most.per_s);
        let stays = (better / rate - 1.0).abs() <= NEAR;
        rate = better;
        // One that is near may be so by chance.
        if tried > 1 && stays && (was_near || (found.cpu - share).abs() <= NEAR) {
            break;
        }
    }
    // CPU share that this rate would have used, by a measurement close to it.
    let off = |found: &&Measured| (found.per_s / rate - 1.0).abs();
    let Some(close) = seen[1..].iter().min_by(|a, b| off(a).total_cmp(&off(b))) else { bail!("no rate was found") };
    let cpu = close.cpu * rate / close.per_s;
    if (cpu - share).abs() > FAR {
        bail!(
            "no rate was found at which {:.0} % of the CPU time are used: the nearest had {:.0} %; is the machine busy with something else?",
            100.0 * share,
            100.0 * close.cpu
        );
    }
    Ok((rate, Some(Measured { per_s: rate, cpu })))
}

/// The rate at which the share is met, by a line through what was seen. What was seen close to the share counts most, so that a curve is no
/// matter; and where all rates are alike the line goes through the origin, so that noise between two of them is none either.
fn nearest_line(seen: &[Measured], share: f64) -> f64 {
    let weight = |found: &Measured| 1.0 / (0.03_f64.powi(2) + (found.cpu - share).powi(2));
    let sum = |of: &dyn Fn(&Measured) -> f64| seen.iter().map(|found| weight(found) * of(found)).sum::<f64>();
    let all = sum(&|_| 1.0);
    let (rate, cpu) = (sum(&|found| found.per_s) / all, sum(&|found| found.cpu) / all);
    // As if rates had a spread of a tenth along the line through the origin.
    let prior = all * (0.1 * rate).powi(2);
    let through_origin = cpu / rate;
    let along = sum(&|found| (found.per_s - rate) * (found.cpu - cpu));
    let slope = (along + prior * through_origin) / (sum(&|found| (found.per_s - rate).powi(2)) + prior);
    // A load that costs less when there is more of it is noise.
    let slope = slope.max(0.3 * through_origin);
    (rate + (share - cpu) / slope).clamp(0.1 * rate, 3.0 * rate)
}

/// Seconds of an interval, its transactions, and CPU time of all CPUs since boot.
type Seen = (f64, u64, Option<CpuTicks>);

/// Looks at a short load.
struct Watched<'a> {
    /// At the end of each interval.
    seen: Vec<Seen>,
    stop: &'a Stop,
}

impl Watch for Watched<'_> {
    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.seen.push((interval.end_s, interval.tally.transactions, CpuTicks::of_all(&Root::live())));
        ControlFlow::Continue(())
    }

    fn wants_end(&mut self) -> bool {
        self.stop.asked()
    }
}

impl Watched<'_> {
    /// Measurement from the first second on.
    fn measured(&self) -> anyhow::Result<Measured> {
        let counted: Vec<Seen> = self.seen.iter().copied().skip_while(|(end_s, ..)| *end_s < 0.99).collect();
        let ([first, .., last], true) = (counted.as_slice(), counted.len() > 2) else {
            bail!("the load ended before anything could be measured");
        };
        let transactions: u64 = counted[1..].iter().map(|(_, transactions, _)| transactions).sum();
        // A short burst of other work is in a few intervals only: the middle half of them counts.
        let shares = counted.windows(2).map(|pair| pair[1].2?.busy_since(&pair[0].2?)).collect::<Option<Vec<f64>>>();
        let Some(mut shares) = shares else { bail!("/proc/stat cannot be read: what the CPUs did is unknown") };
        shares.sort_by(f64::total_cmp);
        let quarter = shares.len() / 4;
        let cpu = fenxi_analyze::mean(&shares[quarter..shares.len() - quarter]);
        Ok(Measured { per_s: transactions as f64 / (last.0 - first.0), cpu })
    }
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

    /// The share of a machine of which CPU time grows with the rate, not quite in proportion.
    fn cpu_at((idle, curve): (f64, f64), share: f64) -> f64 {
        idle + (0.96 - idle) * (share + curve * share * (share - 1.0))
    }

    /// Such a machine, measured with so much noise either way.
    fn machine(of: (f64, f64), noise: f64, seed: u64) -> impl FnMut(Option<f64>) -> anyhow::Result<Measured> {
        let mut random = fenxi_analyze::Random::new(seed);
        move |rate| {
            let per_s = rate.unwrap_or(MOST).min(MOST);
            Ok(Measured { per_s, cpu: cpu_at(of, per_s / MOST) + noise * (2.0 * random.unit() - 1.0) })
        }
    }

    const MOST: f64 = 4000.0;

    #[test]
    fn the_rate_of_a_share_of_cpu_time_is_found() {
        for of in [(0.0, 0.0), (0.05, 0.3), (0.2, -0.4), (0.02, 0.6)] {
            for goal in [0.3, 0.5, 0.8] {
                let (rate, found) = aim(&Offered::Cpu(goal), &mut machine(of, 0.002, 5)).unwrap();
                let real = cpu_at(of, rate / MOST);
                assert!((real - goal).abs() <= 0.02, "{of:?} {goal}: {rate} {real} {found:?}");
            }
        }
        // Each load is off by up to three points: of 200 searches nearly all end within three.
        let near = |seed: &u64| {
            let found = aim(&Offered::Cpu(0.5), &mut machine((0.03, -0.2), 0.03, *seed));
            found.is_ok_and(|(rate, _)| (cpu_at((0.03, -0.2), rate / MOST) - 0.5).abs() <= 0.03)
        };
        let near = (0..200).filter(near).count();
        assert!(near >= 190, "{near}");
        let (rate, _) = aim(&Offered::Max(0.7), &mut machine((0.0, 0.0), 0.0, 1)).unwrap();
        assert!((rate - 2800.0).abs() < 1e-9);
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
