//! `fenxi load run`: from the arguments to a plan, and from what was counted to what is printed and kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    ops::ControlFlow,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fenxi_load::{
    engine::{self, A_MOMENT, Interval, Outcome, Plan, Watch},
    policy::{Action, Policy},
    prepare,
    report::{self, Summary},
    schedule::{Arrival, MAX_JITTER, Rate, Schedule},
    server::{Meter, Server},
    team::{self, Job, threads_for},
    workload::Workload,
};
use fenxi_model::Micros;
use fenxi_record::Stage;
use fenxi_source::Root;
use fenxi_wire::{Mode, client::Client};
use serde_json::json;

use super::{Where, exporter::Exporter, resolve, team::TeamArgs, workload_text};
use crate::{
    machine::hostname,
    options::{
        DbArgs, Global, HostsArgs, JsonArgs, RunLabels, TriggerArgs, came_true, cpu_list, database::caution, interval,
        seconds,
    },
    print, sources,
    stop::Stop,
    stores,
};

/// How long the first connection may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How transactions come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalArg {
    /// Constant intervals, with optional jitter
    Steady,
    /// Poisson process: exponentially distributed intervals
    Poisson,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArg {
    /// Simple query protocol (text)
    Simple,
    /// Prepared statements, prepared by each connection on first use
    Prepared,
    /// All statements of a transaction in one pipeline (PostgreSQL)
    Pipelined,
}

/// `fenxi load run`
#[derive(Debug, Args)]
#[command(after_help = "\
With --rate or --trace the load is open-loop: latency is measured from the
intended start of a transaction, so that a stall of the server shows in every
transaction due meanwhile (no coordinated omission). Service time is measured
from the actual start. Otherwise the load is closed-loop: each connection
starts a transaction when its previous one is done.

Error classes: a SQLSTATE (40P01) or its class (40), a MySQL error number
(1213), connect, login, lost, worker, all. By default, deadlocks, serialization
failures and duplicate keys are retried.

Examples:
  fenxi load run postgres://postgres@/test -w tpcb_like -c 16 \\
      --for 60s --warmup 10s
  fenxi load run mysql://root@127.0.0.1/test -w oltp_read_write -c 256 \\
      --rate 500 --jitter 10%
  fenxi load run mysql://root@127.0.0.1/test -w oltp_point_select -c 64 \\
      --rate 1000@30s,1000..20000@2m
  fenxi load run mysql://root@127.0.0.1/test -w oltp_net -c 10000 \\
      --set idle_pct=90 --connect-rate 2000
  fenxi load run mysql://root@db1/test -w oltp_read_only -c 20000 \\
      --workers 127.0.0.1:7071,host2:7071
  fenxi load run mysql://root@db1/test -w oltp_read_only -c 20000 \\
      --worker-on driver2 --worker-on driver3 --record --on db1")]
#[command(mut_arg("name", |arg| arg.help("Name of the run [default: name of the workload]").requires("record").help_heading("Recording")))]
#[command(mut_arg("tag", |arg| arg.requires("record").help_heading("Recording")))]
#[command(mut_arg("on", |arg| arg.requires("record")))]
#[command(mut_arg("when", |arg| arg.requires("record")))]
#[command(mut_arg("mark_on", |arg| arg.requires("record")))]
#[command(mut_arg("before", |arg| arg.hide(true).conflicts_with("record")))]
pub struct RunArgs {
    /// Database and workload
    #[command(flatten)]
    pub place: Where,
    /// Number of connections
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    pub connections: usize,
    /// Threads of each load-generating process [default: one per 8 connections, at most one per CPU]
    #[arg(long, value_name = "N", help_heading = "Load generators")]
    pub threads: Option<usize>,
    /// CPU affinity: bind threads to these CPUs in turn, such as 0-1,3
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Load generators")]
    pub pin: Option<BTreeSet<usize>>,
    /// Load-generating processes and hosts
    #[command(flatten)]
    pub team: TeamArgs,
    /// Measurement duration
    #[arg(long = "for", default_value = "10s", value_name = "TIME", value_parser = seconds)]
    pub duration: f64,
    /// Warm-up, excluded from results
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub warmup: Option<f64>,
    /// Reporting interval
    #[arg(long, short, default_value = "1s", value_name = "TIME", value_parser = interval)]
    pub interval: f64,
    /// Transactions per second: constant 500, steps 100@30s,200@30s,400 or a ramp 100..2000@60s
    /// [default: closed-loop]
    #[arg(long, value_name = "RATE", value_parser = Rate::parse)]
    pub rate: Option<Rate>,
    /// Arrival process at that rate
    #[arg(long, value_enum, default_value = "steady", requires = "rate", help_heading = "How transactions are sent")]
    pub arrival: ArrivalArg,
    /// Maximum jitter of each start, in percent of the period: 0% to 50%
    #[arg(long, default_value = "0%", value_name = "PERCENT", value_parser = share, requires = "rate", help_heading = "How transactions are sent")]
    pub jitter: f64,
    /// Replay start times from a trace: a file with a number of seconds per line
    #[arg(long, value_name = "FILE", conflicts_with = "rate", help_heading = "How transactions are sent")]
    pub trace: Option<PathBuf>,
    /// Query protocol
    #[arg(long, value_enum, default_value = "prepared", help_heading = "How transactions are sent")]
    pub protocol: ProtocolArg,
    /// Maximum rate of new connections per second
    #[arg(long, value_name = "N", help_heading = "How transactions are sent")]
    pub connect_rate: Option<f64>,
    /// Time to wait at the end for transactions in flight
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = seconds, help_heading = "How transactions are sent")]
    pub drain: f64,
    /// Error classes after which the same transaction is retried (repeatable)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Errors")]
    pub retry: Vec<String>,
    /// Error classes after which the transaction is abandoned and counted (repeatable)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Errors")]
    pub ignore: Vec<String>,
    /// Error classes that abort the run (repeatable)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Errors")]
    pub stop: Vec<String>,
    /// Maximum number of retries per transaction
    #[arg(long, default_value_t = 100, value_name = "N", help_heading = "Errors")]
    pub max_retries: u32,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// Serve Prometheus metrics at this address, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDRESS", help_heading = "Recording")]
    pub prometheus: Option<SocketAddr>,
    /// Record this machine meanwhile, and keep recording and results as a run
    #[arg(long, help_heading = "Recording")]
    pub record: bool,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Sources to record; `+NAME` adds one to the defaults, `-NAME` removes one
    #[arg(
        long,
        value_name = "SOURCES",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "record",
        help_heading = "Recording"
    )]
    pub source: Vec<String>,
    /// Other hosts to record
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Further database servers; the loaded one is observed anyway
    #[command(flatten)]
    pub db: DbArgs,
    /// What to look for meanwhile, and what follows; everything is recorded either way
    #[command(flatten)]
    pub triggers: TriggerArgs,
}

/// A share in percent.
fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok().map(|pct| pct / 100.0);
    let share = number.filter(|share| (0.0..=MAX_JITTER).contains(share));
    share.ok_or_else(|| "expected 0% to 50%: beyond, starts would overtake each other".to_owned())
}

/// Runs a load.
pub fn run(global: &Global, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (workload, plan) = plan(args)?;
    let exporter = args.prometheus.map(Exporter::listen).transpose().context("--prometheus")?;
    let shown = Shown { global, args, exporter };
    let outcome = if args.record {
        recorded(global, args, &workload, &plan, &shown)?
    } else {
        let stop = Stop::on_interrupt();
        drive(args, &plan, &shown, &mut |_| {}, &|| stop.asked())?
    };
    shown.total(&outcome)?;
    let done = outcome.total.tally.transactions > 0;
    // Figures from which a process's share is missing are none to go on with, and a script reads no warnings.
    let whole = outcome.stopped.is_none() && outcome.lost.is_empty();
    Ok(if done && whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes the load, in this process or with workers. `each` is told of every interval; `ends` whether it shall end.
fn drive(
    args: &RunArgs,
    plan: &Plan,
    shown: &Shown<'_>,
    each: &mut (dyn FnMut(Summary) + Send),
    ends: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Outcome> {
    let meter = Meter::new(Server::find(&plan.endpoint), plan.warmup_s + plan.duration_s);
    let mut follower = Follower { shown, meter, each, ends };
    let mut outcome = match args.team.gather()? {
        None => engine::run_watched(plan, &mut follower)?,
        Some(team) => {
            let job = Job {
                url: args.place.url.clone(),
                workload: args.place.workload.clone(),
                text: workload_text(&args.place.workload)?,
                settings: args.place.set.clone(),
                threads: args.threads,
            };
            let outcome = team::run(plan, &job, team.links, &mut follower)?;
            drop(team.children);
            outcome
        }
    };
    outcome.server = follower.meter.usage();
    Ok(outcome)
}

/// Shows a run as it goes, and measures the server meanwhile.
struct Follower<'a> {
    shown: &'a Shown<'a>,
    meter: Meter,
    each: &'a mut (dyn FnMut(Summary) + Send),
    ends: &'a (dyn Fn() -> bool + Sync),
}

impl Watch for Follower<'_> {
    fn ready(&mut self) -> Option<Instant> {
        self.meter.begin();
        Some(Instant::now() + A_MOMENT)
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.meter.interval(interval);
        let summary = Summary::of(interval);
        self.shown.interval(interval, &summary);
        (self.each)(summary);
        ControlFlow::Continue(())
    }

    fn wants_end(&mut self) -> bool {
        (self.ends)()
    }
}

fn plan(args: &RunArgs) -> anyhow::Result<(Workload, Plan)> {
    let (workload, target, program) = resolve(&args.place)?;
    let schedule = match (&args.rate, &args.trace) {
        (Some(rate), _) => {
            let arrival = match args.arrival {
                ArrivalArg::Steady => Arrival::Steady { jitter: args.jitter },
                ArrivalArg::Poisson => Arrival::Poisson,
            };
            Schedule::Open { rate: rate.clone(), arrival }
        }
        (None, Some(path)) => {
            Schedule::trace(&fs_err::read_to_string(path)?).with_context(|| path.display().to_string())?
        }
        (None, None) => Schedule::Closed,
    };
    let mut policy = Policy::of(target.login.dialect);
    policy.max_retries = args.max_retries;
    for (classes, action) in [(&args.retry, Action::Retry), (&args.ignore, Action::Ignore), (&args.stop, Action::Stop)]
    {
        for class in classes {
            policy.add(class, action).map_err(anyhow::Error::msg)?;
        }
    }
    // A refused login, a wrong address and a missing table are said at once, and not counted ten thousand times.
    let mut client = Client::connect(&target, PATIENCE)?;
    caution(client.cautions());
    if let Some(table) = prepare::missing(&mut client, &program)? {
        bail!("{target} has no table {table}; make it with `fenxi load prepare` and the same options");
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or_else(|| threads_for(args.connections, processors));
    let plan = Plan {
        endpoint: client.endpoint().clone(),
        target,
        program: Arc::new(program),
        mode: match args.protocol {
            ProtocolArg::Simple => Mode::Simple,
            ProtocolArg::Prepared => Mode::Prepared,
            ProtocolArg::Pipelined => Mode::Pipelined,
        },
        schedule: Arc::new(schedule),
        connections: args.connections,
        threads,
        share: None,
        pin: args.pin.iter().flatten().copied().collect(),
        warmup_s: args.warmup.unwrap_or(0.0),
        duration_s: args.duration,
        interval_s: args.interval,
        drain_s: args.drain,
        connects_per_s: args.connect_rate,
        seed: args.place.seed,
        policy,
    };
    Ok((workload, plan))
}

/// What is shown while a load runs and when it has ended.
struct Shown<'a> {
    global: &'a Global,
    args: &'a RunArgs,
    exporter: Option<Exporter>,
}

impl Shown<'_> {
    fn interval(&self, interval: &Interval, summary: &Summary) {
        if let Some(exporter) = &self.exporter {
            exporter.add(interval);
        }
        if self.args.form.is_json() {
            // What cannot be written makes the command fail in the end; the load goes on.
            let _ = print::json(&format!("{}\n", json!({ "interval": summary })));
        } else if !self.global.quiet {
            print::message(&summary.line());
        }
    }

    fn total(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let errors: BTreeMap<String, _> = outcome
            .total
            .tally
            .errors
            .iter()
            .map(|(failure, (count, example))| (failure.to_string(), json!({ "count": count, "example": example })))
            .collect();
        if self.args.form.is_json() {
            let total = json!({ "total": {
                "summary": Summary::of(&outcome.total),
                "results": report::figures(outcome),
                "errors": errors,
                "doubts": outcome.doubts(),
                "stopped": outcome.stopped,
            }});
            print::json(&format!("{total}\n"))?;
        } else {
            print::text(&report::text(outcome))?;
        }
        for doubt in outcome.doubts() {
            print::message(&format!("warning: {doubt}"));
        }
        if let Some(reason) = &outcome.stopped {
            print::message(&format!("the load was aborted: {reason}"));
        }
        if outcome.total.tally.transactions == 0 {
            print::message("no transaction was completed");
        }
        Ok(())
    }
}

/// Runs the load while this machine is recorded, and keeps both as one run.
fn recorded(
    global: &Global,
    args: &RunArgs,
    workload: &Workload,
    plan: &Plan,
    shown: &Shown<'_>,
) -> anyhow::Result<Outcome> {
    let root = Root::live();
    let host = hostname(&root);
    let mut sources = sources::choose(&args.hosts.own(&args.source, &host))?;
    sources.extend(args.db.source(vec![fenxi_db::Server::new(&plan.target)], args.interval)?);
    let triggers = args.triggers.triggers(&mut sources)?;
    sources.extend(args.hosts.connect(&args.source, args.interval, None, &host, global.quiet)?);
    let record = fenxi_record::Plan {
        store: Some(stores::create(global)?),
        name: args.labels.name.clone().unwrap_or_else(|| workload.name.rsplit('/').next().unwrap_or("load").to_owned()),
        tags: args.labels.tag.iter().cloned().collect(),
        params: parameters(args, workload, plan),
        random: stores::random(),
        beside_work: true,
        triggers,
        ..fenxi_record::Plan::new(sources, root, host, args.interval)
    };
    let (ended, interrupted) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut work = Some(|| {
        let mut intervals: Vec<(Micros, Summary)> = Vec::new();
        let each = &mut |summary| intervals.push((stores::now(), summary));
        let outcome = drive(args, plan, shown, each, &|| interrupted.load(Ordering::Relaxed));
        ended.store(true, Ordering::Relaxed);
        (outcome, intervals)
    });
    let (load, observed) = std::thread::scope(|scope| {
        let mut load = None;
        let observed = fenxi_record::observe(record, &mut |_: Stage<'_>| {
            // Not before the recorder takes the signals: a thread begins with those that its maker leaves to others.
            if let Some(work) = work.take() {
                load = Some(scope.spawn(work));
            }
            if ended.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        // A signal, or a store that is full, ends the load as well.
        interrupted.store(true, Ordering::Relaxed);
        (load.map(std::thread::ScopedJoinHandle::join), observed)
    });
    let mut observed = observed?;
    let Some(Ok((outcome, intervals))) = load else { bail!("the load ended without a result") };
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            observed.discard()?;
            return Err(error);
        }
    };
    for (t, summary) in &intervals {
        summary.row(observed.rows(), *t);
    }
    report::rows(&outcome, observed.rows());
    let kept = observed.seal()?;
    if let (Some(run), false) = (kept.run, global.quiet) {
        let fired = came_true(&kept.triggered);
        print::messages(&format!("recorded {run}{fired}\nnext: fenxi explain @1, fenxi ask, fenxi report @1"));
    }
    Ok(outcome)
}

/// What says how a run was made.
fn parameters(args: &RunArgs, workload: &Workload, plan: &Plan) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> =
        workload.options.iter().map(|(key, option)| (key.clone(), option.value.to_string())).collect();
    let protocol = args.protocol.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
    for (key, value) in [
        ("workload", workload.name.clone()),
        ("server", plan.target.login.dialect.word().to_owned()),
        ("connections", plan.connections.to_string()),
        ("threads", plan.threads.to_string()),
        ("protocol", protocol),
        ("seed", plan.seed.to_string()),
    ] {
        all.insert(key.to_owned(), value);
    }
    if let Some(count) = args.team.count() {
        all.insert("processes".to_owned(), count.to_string());
    }
    if let Some(think) = workload.think_time_us() {
        all.insert("think_us".to_owned(), think);
    }
    if let Some(rate) = plan.schedule.offered_per_s(plan.warmup_s, plan.warmup_s + plan.duration_s) {
        all.insert("rate_per_s".to_owned(), rate.to_string());
    }
    all
}
