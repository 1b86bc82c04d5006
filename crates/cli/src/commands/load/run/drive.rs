//! Drives a planned load: in this process or with workers, alone or while this machine is recorded.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use anyhow::bail;
use fenxi_load::{
    engine::{self, A_MOMENT, Interval, Outcome, Plan, Watch},
    report::{self, Summary},
    server::{Meter, Server},
    team::{self, Job},
};
use fenxi_model::Micros;
use fenxi_record::Stage;
use fenxi_source::Root;

use super::{
    super::workload_text,
    RunArgs,
    plan::{Planned, parameters},
    print::Printer,
};
use crate::{
    machine::hostname,
    options::{Global, came_true},
    print, sources,
    stop::Stop,
    stores,
};

/// Drives the load, and records this machine meanwhile where that is asked for.
pub fn drive(global: &Global, args: &RunArgs, planned: &Planned, printer: &Printer) -> anyhow::Result<Outcome> {
    if args.record {
        return recorded(global, args, planned, printer);
    }
    let stop = Stop::on_interrupt();
    load(args, &planned.load, printer, &mut |_| {}, &|| stop.asked())
}

/// Makes the load, in this process or with workers. `each` is called with every interval; `ends` decides whether it ends.
fn load(
    args: &RunArgs,
    plan: &Plan,
    printer: &Printer,
    each: &mut (dyn FnMut(Summary) + Send),
    ends: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Outcome> {
    let meter = Meter::new(Server::find(&plan.endpoint), plan.run.warmup_s + plan.run.duration_s);
    let mut follower = Follower { printer, meter, each, ends };
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
    printer: &'a Printer,
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
        let summary = Summary::from_interval(interval);
        self.printer.interval(interval, &summary);
        (self.each)(summary);
        ControlFlow::Continue(())
    }

    fn wants_end(&mut self) -> bool {
        (self.ends)()
    }
}

/// Runs the load while this machine is recorded, and keeps both as one run.
fn recorded(global: &Global, args: &RunArgs, planned: &Planned, printer: &Printer) -> anyhow::Result<Outcome> {
    let record = record_plan(global, args, planned)?;
    let (ended, interrupted) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut work = Some(|| {
        let mut intervals: Vec<(Micros, Summary)> = Vec::new();
        let each = &mut |summary| intervals.push((stores::now(), summary));
        let outcome = load(args, &planned.load, printer, each, &|| interrupted.load(Ordering::Relaxed));
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
    // Results leave out the warm-up, and so do the intervals: both give the same means.
    for (t, summary) in intervals.iter().filter(|(_, summary)| !summary.warmup) {
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

/// How this machine, its database servers and other hosts are recorded beside the load.
fn record_plan(global: &Global, args: &RunArgs, planned: &Planned) -> anyhow::Result<fenxi_record::Plan> {
    let root = Root::live();
    let host = hostname(&root);
    let mut sources = sources::choose(&args.hosts.own(&args.source, &host))?;
    sources.extend(args.db.source(vec![fenxi_db::Server::new(&planned.load.target)], args.interval)?);
    let triggers = args.triggers.triggers(&mut sources)?;
    sources.extend(args.hosts.connect(&args.source, args.interval, None, &host, global.quiet)?);
    Ok(fenxi_record::Plan {
        store: Some(stores::create(global)?),
        name: args
            .labels
            .name
            .clone()
            .unwrap_or_else(|| planned.workload.name.rsplit('/').next().unwrap_or("load").to_owned()),
        tags: args.labels.tag.iter().cloned().collect(),
        params: parameters(args, planned),
        random: stores::random(),
        beside_work: true,
        triggers,
        ..fenxi_record::Plan::new(sources, root, host, args.interval)
    })
}
