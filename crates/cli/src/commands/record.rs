//! `fenxi record`.

use std::{collections::BTreeMap, ffi::OsString, ops::ControlFlow, path::Path, process::ExitCode};

use anyhow::{Context, bail};
use clap::{Args, Parser};
use fenxi_model::Unit;
use fenxi_record::{Outcome, Plan, RecordError, Reload, Roll, Stage, Watch};
use fenxi_store::{SERIES, SeriesLock, Store};
use fenxi_study::keep_results;

use super::Command;
use crate::{
    answers,
    args::Cli,
    argv,
    ending::exit_code,
    facts,
    machine::hostname,
    options::{
        DbArgs, Global, HostsArgs, RollArgs, RootArg, RunLabels, TriggerArgs, came_true, interval, key_value, seconds,
        with_config,
    },
    passed::Passed,
    print,
    progress::{Line, plural},
    sources,
    stop::Stop,
    stores,
    unmet::Unmet,
};

/// `fenxi record`
#[derive(Debug, Args)]
#[command(after_help = "\
The command keeps its standard streams; fenxi exits with the command's status.
What pgbench, sysbench, wrk, fio and others like them print is read as well:
their results are results of the run. So is what any command prints into a file.
Without a command, Ctrl-C ends the recording and keeps the run.

Examples:
  fenxi record --name baseline --tag kernel=6.18 -- ./bench.sh
  fenxi record --interval 100ms --for 10s
  fenxi record --source cpu,disk,net --for 1m
  fenxi record --source +iopattern:pid=42 --for 1m
  fenxi record --db postgres:///shop --db mysql://mon@db1/ --for 5m
  fenxi record --on db1 --on store=me@10.0.0.9 -- ./bench.sh
  fenxi record --on 'pod=kubectl exec -i shop-0 --' --source pod:+profile
  fenxi record --on db1 --on db2 --on db3 --role server=db1,db2,db3
  fenxi record --fact build=a1b2c3 --fact my.cnf=@/etc/my.cnf -- ./bench.sh
  fenxi record --fact 'packages=$(rpm -qa | sort)' --for 1m
  fenxi record --when 'cpu.busy > 90 for 5s' --then +profile --after 30s
  fenxi record --when 'sessions{user=app} reaches 10,20,30' \\
    --then +querystat --only session
  fenxi record --when \"event kind='oom kill'\" --before 60s \\
    --hook 'mail -s oom ops'
  fenxi record --roll 1h --keep 14d,20GB --interval 10s    without an end
  fenxi record --config /etc/fenxi/record.conf             as its unit does")]
#[command(mut_arg("name", |arg| arg.help("Name of the run [default: name of the command or host]")))]
pub struct RecordArgs {
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Sampling interval, at least 10ms
    #[arg(long, short, default_value = "1s", value_parser = interval)]
    pub interval: f64,
    /// Duration; a command still running then gets SIGTERM
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub duration: Option<f64>,
    /// Sources to record; `+NAME` adds one to the defaults, `-NAME` removes one,
    /// `NAME:OPTION=VALUE` sets options of observers, `HOST:` is for that host alone
    #[arg(long, short, value_name = "SOURCES", value_delimiter = ',', allow_hyphen_values = true)]
    pub source: Vec<String>,
    /// A fact to keep with the run, also compared: VALUE as it is, @FILE for a
    /// file's text, $(COMMAND) for what a shell command prints; NAME may stand
    /// behind `HOST:`, the host that it is about; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_value)]
    pub fact: Vec<(String, String)>,
    /// Whether it has an end
    #[command(flatten)]
    pub roll: RollArgs,
    /// Other hosts
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Database servers
    #[command(flatten)]
    pub db: DbArgs,
    /// Triggers
    #[command(flatten)]
    pub triggers: TriggerArgs,
    /// The machine
    #[command(flatten)]
    pub machine: RootArg,
    /// Command to run and record
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Records, prints what was kept, and exits with the command's status.
pub fn run(global: &Global, args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let store = stores::create(global)?;
    let mut plan = plan(&store, args, global.quiet)?;
    // Held to the end: two recorders of one series would remove each other's runs.
    let _turn = plan.roll.as_ref().map(|roll| turn(&store, &roll.series)).transpose()?;
    if let Some(roll) = &mut plan.roll {
        roll.reload = Some(reload(store, roll.series.clone()));
    }
    let series = plan.roll.as_ref().map(|roll| roll.series.clone());
    let line = Line::new(global.quiet, !args.command.is_empty(), args.duration);
    let (passed, output) = match args.command.is_empty() {
        true => (Passed::Unread, None),
        false => Passed::begin(&args.command),
    };
    plan.output = output;
    let databases = (!args.db.servers.is_empty()).then_some(fenxi_db::SOURCE_NAME);
    let named: Vec<String> = args.source.iter().chain(&args.triggers.then).cloned().collect();
    let mut unmet = Unmet::of(&named, databases);
    let outcome = record(plan, passed, &mut |stage| {
        line.show(&stage);
        unmet.look(&stage).iter().for_each(|warning| line.say(warning));
        ControlFlow::Continue(())
    });
    line.clear();
    match outcome {
        Ok(outcome) => {
            if !global.quiet {
                print::messages(&describe(&outcome, series.as_deref()));
            }
            // The command's output may have hidden them meanwhile.
            if !args.command.is_empty() {
                unmet.told().for_each(print::message);
            }
            if let (Some(run), Ok(store)) = (&outcome.run, stores::open(global)) {
                answers::prepare(&store, run, global.quiet, &Stop::on_interrupt());
            }
            Ok(exit_code(outcome.exit_code.unwrap_or(0)))
        }
        Err(RecordError::Command { source, command }) => {
            print::error(&RecordError::Command { source, command }.into());
            // As a shell does for a command that cannot be run.
            Ok(ExitCode::from(127))
        }
        Err(error) => Err(error.into()),
    }
}

/// Records, and keeps what a load generator or benchmark printed with the run.
fn record(plan: Plan, passed: Passed, watch: &mut Watch<'_>) -> Result<Outcome, RecordError> {
    let (store, sources) = (plan.store.clone(), plan.sources.clone());
    let mut observed = fenxi_record::observe(plan, watch)?;
    let _ = watch(Stage::Sealing);
    if let (Some(store), Some(text)) = (store, passed.text()) {
        keep_results(&mut observed, &store, text, &sources)?;
    }
    observed.seal()
}

/// Plan of the recording.
fn plan(store: &Store, args: &RecordArgs, quiet: bool) -> anyhow::Result<Plan> {
    let root = args.machine.open()?;
    let host = hostname(&root);
    let mut sources = sources::choose(&args.hosts.own(&args.source, &host))?;
    sources.extend(facts::given(&args.fact, &args.hosts.names(&host))?);
    sources.extend(args.db.source(Vec::new(), args.interval)?);
    let triggers = args.triggers.triggers(&mut sources)?;
    sources.extend(args.hosts.connect(&args.source, args.interval, args.duration, &host, quiet)?);
    let name = args.labels.name.clone().unwrap_or_else(|| default_name(args, &host));
    let mut tags: BTreeMap<String, String> = args.labels.tag.iter().cloned().collect();
    let roll = match args.roll.roll {
        Some(every_s) => {
            let intervals = every_s / args.interval;
            if intervals < 0.5 || (intervals - intervals.round()).abs() > 1e-6 {
                bail!("--roll must be a whole number of intervals: {every_s} s is no multiple of {} s", args.interval);
            }
            let series = tags.entry(SERIES.to_owned()).or_insert_with(|| name.clone()).clone();
            Some(Roll { every_s, series, keep: args.roll.kept()?, reload: None })
        }
        None => None,
    };
    Ok(Plan {
        store: Some(store.clone()),
        name,
        tags,
        duration_s: args.duration,
        command: (!args.command.is_empty()).then(|| args.command.clone()),
        random: stores::random(),
        triggers,
        roll,
        ..Plan::new(sources, root, host, args.interval)
    })
}

/// The right to record a series.
fn turn(store: &Store, series: &str) -> anyhow::Result<SeriesLock> {
    store.lock_series(series)?.with_context(|| {
        format!("another fenxi is recording `{series}` into this store: stop it, or give this recording another --name")
    })
}

/// Reads the command line and its file of options anew.
fn reload(store: Store, series: String) -> Reload {
    Box::new(move || {
        let words = with_config(argv::words()).map_err(|error| format!("{error:#}"))?;
        let cli = Cli::try_parse_from(words).map_err(|error| first_line(&error))?;
        let Command::Record(args) = &cli.command else { return Err("the command is another one".to_owned()) };
        let mut plan = plan(&store, args, cli.global.quiet).map_err(|error| format!("{error:#}"))?;
        match &mut plan.roll {
            Some(roll) if roll.series == series => roll.reload = Some(reload(store.clone(), series.clone())),
            Some(roll) => {
                return Err(format!("the series would be `{}` and no longer `{series}`: start it anew", roll.series));
            }
            None => return Err("there is no --roll any more: stop it instead".to_owned()),
        }
        Ok(plan)
    })
}

/// The fault of a command line, without the advice on how to type it.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn describe(outcome: &Outcome, series: Option<&str>) -> String {
    let progress = &outcome.progress;
    let run = match (&outcome.run, series) {
        (Some(run), Some(series)) => format!("{} of `{series}`, the last one {run}", plural(outcome.runs, "run")),
        (Some(run), None) => run.to_string(),
        (None, _) => "nothing".to_owned(),
    };
    let mut text = format!(
        "recorded {run}: {} in {}, recorder used {} of CPU time",
        plural(progress.ticks, "sample"),
        Unit::Seconds.human(progress.elapsed_s),
        Unit::Seconds.human(outcome.cpu_s),
    );
    if progress.missed > 0 {
        text.push_str(&format!(", {} missed", plural(progress.missed, "tick")));
    }
    if let Some(code) = outcome.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!("; the command ended with status {code}"));
    }
    text.push_str(&came_true(&outcome.triggered));
    text.push_str(match series {
        Some(_) => "\nnext: fenxi show -1h.., fenxi compare yesterday today",
        None => "\nnext: fenxi explain @1, fenxi ask, fenxi report @1",
    });
    text
}

/// The command's own name, or the host's when there is no command.
fn default_name(args: &RecordArgs, host: &str) -> String {
    let program = args.command.first().and_then(|c| Path::new(c).file_name());
    program.map_or_else(|| host.to_owned(), |name| name.to_string_lossy().into_owned())
}
