//! The plan of a load, from the arguments; and the parameters of the run that keeps it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use clap::ValueEnum;
use fenxi_load::{
    engine::{Plan, Settings},
    policy::{Action, Policy},
    prepare,
    schedule::{Arrival, Schedule},
    team::threads_for,
    workload::Workload,
};
use fenxi_wire::{Dialect, Mode, client::Client};

use super::{
    super::resolve,
    ArrivalArg, PATIENCE, ProtocolArg, RunArgs,
    aim::{self, Offered},
};
use crate::options::database::caution;

/// A load that can be driven.
pub struct Planned {
    /// Its workload, with its options.
    pub workload: Workload,
    /// Its plan: operations and target.
    pub load: Plan,
}

/// How long the server may take to answer which tables it has.
const ASKED: Duration = Duration::from_secs(10);

/// Plans a load: what cannot work is an error here, before any transaction.
pub fn plan(args: &RunArgs) -> anyhow::Result<Planned> {
    let (workload, target, program) = resolve(&args.place)?;
    let (schedule, policy) = (schedule(args)?, policy(args, target.login.dialect)?);
    // A refused login, a wrong address and a missing table are reported at once, and not counted ten thousand times.
    let mut client = Client::connect(&target, PATIENCE)?;
    caution(client.cautions());
    client.set_limit(ASKED);
    if let Some(table) = prepare::missing(&mut client, &program)? {
        bail!("{target} has no table {table}; make it with `fenxi load prepare` and the same options");
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or_else(|| threads_for(args.connections, processors));
    let mut load = Plan {
        endpoint: client.endpoint().clone(),
        target,
        program: Arc::new(program),
        threads,
        share: None,
        run: Settings {
            mode: match args.protocol {
                ProtocolArg::Simple => Mode::Simple,
                ProtocolArg::Prepared => Mode::Prepared,
                ProtocolArg::Pipelined => Mode::Pipelined,
            },
            schedule,
            connections: args.connections,
            pin: args.pin.iter().flatten().copied().collect(),
            warmup_s: args.warmup.unwrap_or(0.0),
            duration_s: args.duration,
            interval_s: args.interval,
            drain_s: args.drain,
            connects_per_s: args.connect_rate,
            seed: args.place.seed,
            policy,
        },
    };
    if let Some(goal @ (Offered::Cpu(_) | Offered::Max(_))) = &args.rate {
        if args.team.count().is_some() {
            bail!(
                "`--rate cpu:` and `max:` look for the rate in one process; give the workers a number that was found so"
            );
        }
        drop(client);
        let arrival = arrival(args);
        load.run.schedule = Schedule::Open { rate: aim::find(goal, &load, arrival)?, arrival };
    }
    Ok(Planned { workload, load })
}

/// How transactions come at a rate.
fn arrival(args: &RunArgs) -> Arrival {
    match args.arrival {
        ArrivalArg::Steady => Arrival::Steady { jitter: args.jitter },
        ArrivalArg::Poisson => Arrival::Poisson,
    }
}

/// When transactions start.
fn schedule(args: &RunArgs) -> anyhow::Result<Schedule> {
    Ok(match (&args.rate, &args.trace) {
        (Some(Offered::Rate(rate)), _) => Schedule::Open { rate: rate.clone(), arrival: arrival(args) },
        (None, Some(path)) => {
            Schedule::trace(&fs_err::read_to_string(path)?).with_context(|| path.display().to_string())?
        }
        (Some(Offered::Cpu(_) | Offered::Max(_)), _) | (None, None) => Schedule::Closed,
    })
}

/// Action on each class of error.
fn policy(args: &RunArgs, dialect: Dialect) -> anyhow::Result<Policy> {
    let mut policy = Policy::for_dialect(dialect);
    policy.max_retries = args.max_retries;
    for (classes, action) in [(&args.retry, Action::Retry), (&args.ignore, Action::Ignore), (&args.stop, Action::Stop)]
    {
        for class in classes {
            policy.add(class, action).map_err(anyhow::Error::msg)?;
        }
    }
    Ok(policy)
}

/// The facts of how a run was made.
pub fn parameters(args: &RunArgs, Planned { workload, load }: &Planned) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> =
        workload.options.iter().map(|(key, option)| (key.clone(), option.value.to_string())).collect();
    let protocol = args.protocol.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
    for (key, value) in [
        ("workload", workload.name.clone()),
        ("server", load.target.login.dialect.word().to_owned()),
        ("connections", load.run.connections.to_string()),
        ("threads", load.threads.to_string()),
        ("protocol", protocol),
        ("seed", load.run.seed.to_string()),
    ] {
        all.insert(key.to_owned(), value);
    }
    if let Some(count) = args.team.count() {
        all.insert("processes".to_owned(), count.to_string());
    }
    if let Some(think) = workload.think_time_us() {
        all.insert("think_us".to_owned(), think);
    }
    match &args.rate {
        Some(Offered::Cpu(share)) => drop(all.insert("rate".to_owned(), format!("cpu:{:.0}%", 100.0 * share))),
        Some(Offered::Max(share)) => drop(all.insert("rate".to_owned(), format!("max:{:.0}%", 100.0 * share))),
        _ => {}
    }
    if let Some(rate) = load.run.schedule.offered_per_s(load.run.warmup_s, load.run.warmup_s + load.run.duration_s) {
        all.insert("rate_per_s".to_owned(), rate.to_string());
    }
    all
}
