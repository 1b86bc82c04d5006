//! The standing adversary: statements that try to write, to stay, to lie, to look around and to take all there is,
//! against a server that it starts itself: `cargo run -p fenxi-fuzz --bin fenxi-adversary -- --for 60s`.
//!
//! It makes statements of the engine's own functions ([`grammar`]), asks them in every way there is, and looks after each whether
//! all still holds ([`siege`]). The same seed makes the same statements. What breaks something is made short and printed.

#![allow(clippy::print_stdout, reason = "a tool for developers: what it found is its output")]

mod functions;
mod grammar;
mod rude;
mod shrink;
mod siege;
mod values;

use fenxi_test_support::{made_up, served, watch};

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Parser;

use grammar::Grammar;
use rude::Rudeness;
use siege::{Asked, Broken, Setup, Siege, Summary, Way, scratch};
use values::Paths;

/// Requests that are remembered: what breaks something may have been asked a little before.
const REMEMBERED: usize = 24;
/// Between two looks at every file, in requests.
const LOOK: u64 = 10;

/// Attack a separate server with statements, and check that all promises still hold
#[derive(Debug, Parser)]
struct Args {
    /// Seed of the statements; the same seed makes the same ones
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long, as 60s, 10m or 1h
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = time)]
    time: Duration,
    /// Statements at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The program; without it the one beside this one
    #[arg(long, value_name = "FILE")]
    fenxi: Option<PathBuf>,
    /// Time limit of the server
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    time_limit: Duration,
    /// Memory of the server, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    memory: u64,
    /// What all processes together may have beyond that, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 200)]
    more_memory: u64,
    /// End after so many answers, if the time is not over before
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Ask beside them what people ask, all the time: of 100, 99 must be answered within a second
    #[arg(long)]
    honest: bool,
    /// Against a server that changes nothing
    #[arg(long)]
    read_only: bool,
    /// Go on after something broke, on a new server, and list all
    #[arg(long)]
    all: bool,
    /// Rude clients: silent connections, and ten times as many resets
    #[arg(long, value_name = "N", default_value_t = 100)]
    rude: usize,
    /// Print the functions that the server lists, as in `functions.txt`, and end
    #[arg(long)]
    functions: bool,
    /// Print so many statements, and ask none
    #[arg(long, value_name = "N")]
    print: Option<usize>,
}

fn time(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match &text[at..] {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return Err("expected a time such as 60s, 10m or 1h".to_owned()),
    };
    let number: u64 = text[..at].parse().map_err(|_| "expected a time such as 60s, 10m or 1h".to_owned())?;
    Ok(Duration::from_secs(number * factor))
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let beside = || std::env::current_exe().ok().map(|path| path.with_file_name("fenxi"));
    let fenxi = args.fenxi.clone().or_else(beside).filter(|path| path.is_file());
    let setup = Setup {
        fenxi: fenxi.context("there is no `fenxi` beside this program; name it with --fenxi, or build it")?,
        limit: args.time_limit,
        memory: args.memory << 20,
        more: args.more_memory << 20,
        read_only: args.read_only,
        alone: args.jobs <= 1,
    };
    println!("adversary: --seed {} --jobs {}", args.seed, args.jobs);
    let begun = Instant::now();
    let (mut total, mut found) = (Summary::default(), BTreeMap::new());
    for round in 0.. {
        let folder = scratch()?;
        let siege = Siege::begin(&setup, folder.path())?;
        let (functions, told) = functions::all(siege.served());
        if args.functions {
            functions::told(siege.served()).iter().for_each(|line| println!("{line}"));
            return Ok(ExitCode::SUCCESS);
        }
        if round == 0 {
            println!("{} signatures of functions, {told} listed by the server", functions.len());
        }
        let shipped = shipped(&siege);
        let grammars: Vec<Grammar> = (0..args.jobs.max(1) as u64)
            .map(|job| args.seed.wrapping_mul(1_000_003).wrapping_add(job).wrapping_add(round << 32))
            .map(|seed| Grammar::new(seed, functions.clone(), Paths(siege.paths()), shipped.clone()))
            .collect();
        if let Some(n) = args.print {
            grammars.into_iter().take(1).for_each(|g| printed(g, n));
            return Ok(ExitCode::SUCCESS);
        }
        let (summary, failure) = one_round(&args, siege, grammars, begun);
        total.add(&summary);
        match failure {
            None => break,
            Some(failure) => report(&args, &setup, &failure, &mut found),
        }
        if !args.all || begun.elapsed() >= args.time {
            break;
        }
    }
    Ok(closing(&args, begun.elapsed(), &total, &found))
}

/// A failure, with the requests until then.
struct Failure {
    broken: Broken,
    /// The latest last.
    asked: Vec<Asked>,
}

/// Attacks one server until the time is over or something breaks.
fn one_round(args: &Args, siege: Siege, grammars: Vec<Grammar>, begun: Instant) -> (Summary, Option<Failure>) {
    let failure: Mutex<Option<Broken>> = Mutex::new(None);
    let asked: Mutex<VecDeque<Asked>> = Mutex::default();
    let fail = |broken: Broken| {
        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(broken);
    };
    let wanted = args.requests.unwrap_or(u64::MAX);
    let is_enough = || begun.elapsed() >= args.time || siege.answered() >= wanted;
    let goes_on = || !is_enough() && failure.lock().is_ok_and(|f| f.is_none());
    let honest: Mutex<Vec<Duration>> = Mutex::default();
    if args.rude > 0 {
        let rudeness = Rudeness { silent: args.rude, resets: 10 * args.rude, unread: args.rude.div_ceil(10) };
        match rude::behave(siege.served(), rudeness) {
            Ok(said) => println!("{said}"),
            Err(broken) => fail(broken),
        }
    }
    std::thread::scope(|scope| {
        if args.honest {
            scope.spawn(|| match ask_honestly(&siege, &goes_on) {
                Ok(took) => honest.lock().unwrap_or_else(PoisonError::into_inner).extend(took),
                Err(broken) => fail(broken),
            });
        }
        for (job, mut grammar) in grammars.into_iter().enumerate() {
            let (siege, asked, fail, goes_on) = (&siege, &asked, &fail, &goes_on);
            scope.spawn(move || {
                for number in 0_u64.. {
                    if !goes_on() {
                        break;
                    }
                    let one = next(&mut grammar, job);
                    {
                        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
                        asked.push_back(one.clone());
                        if asked.len() > REMEMBERED {
                            asked.pop_front();
                        }
                    }
                    let look = |()| if number.is_multiple_of(LOOK) { siege.unchanged() } else { Ok(()) };
                    if let Err(broken) = siege.ask(&one).and_then(look) {
                        fail(broken);
                    }
                }
            });
        }
    });
    let honest = honest.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(late) = late(&honest) {
        fail(late);
    }
    let summary = Summary { honest, ..siege.summary() };
    let broken = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    let asked: Vec<Asked> = asked.into_inner().unwrap_or_else(PoisonError::into_inner).into();
    match broken.map_or_else(|| siege.end().err(), Some) {
        Some(broken) => (summary, Some(Failure { broken, asked })),
        None => (summary, None),
    }
}

/// Asks what people ask until the end: how long each took.
fn ask_honestly(siege: &Siege, goes_on: &dyn Fn() -> bool) -> Result<Vec<Duration>, Broken> {
    let mut all = Vec::new();
    while goes_on() {
        all.push(siege.honest(all.len())?);
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(all)
}

/// How long 99 of 100 honest requests took at most.
fn percentile_99(honest: &[Duration]) -> Duration {
    let mut all = honest.to_vec();
    all.sort_unstable();
    all.get((all.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
}

/// The complaint where that is too long.
fn late(honest: &[Duration]) -> Option<Broken> {
    let took = percentile_99(honest);
    let seen = format!("{} of them, p99 {took:?}", honest.len());
    (took >= Duration::from_secs(1)).then_some(Broken { what: "honest requests wait", seen })
}

/// The next request.
fn next(grammar: &mut Grammar, job: usize) -> Asked {
    let statement = grammar.statement();
    let way = match grammar.below(10) {
        0 => Way::Panel("table"),
        1 => Way::Panel("line"),
        2 => Way::Panel("histogram"),
        3 => Way::Question(job),
        _ => Way::Sql,
    };
    Asked { statement, way, one_run: grammar.below(2) == 0 }
}

/// The SQL of the questions that the server ships.
fn shipped(siege: &Siege) -> Vec<String> {
    let answer = siege.served().get("/api/v1/questions").text();
    let json: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
    let all = json["questions"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|question| question["sql"].as_str().map(str::to_owned)).collect()
}

fn printed(mut grammar: Grammar, n: usize) {
    for _ in 0..n {
        println!("{:?}", next(&mut grammar, 0).statement);
    }
}

/// Reports what broke, with the shortest statement that breaks it.
fn report(args: &Args, setup: &Setup, failure: &Failure, found: &mut BTreeMap<&'static str, u32>) {
    let what = failure.broken.what;
    println!("FAILED: {what}: {}", failure.broken.seen);
    let times = found.entry(what).or_default();
    *times += 1;
    // Of one kind a few are enough to see what they have in common.
    if *times > 5 {
        return;
    }
    // Where no more servers come up, the machine is too busy to look for the shortest.
    let shortest = shrink::shortest(setup, &failure.asked, what).unwrap_or_else(|error| {
        println!("  not tried alone: {error}");
        None
    });
    match shortest {
        Some((asked, broken)) => {
            println!("  seed {}: as {:?}, one run {}: {:?}", args.seed, asked.way, asked.one_run, asked.statement);
            println!("  alone on a new server: {}", broken.seen);
        }
        None => {
            println!("  seed {}: no statement does it alone; the last ones were", args.seed);
            failure.asked.iter().rev().take(8).for_each(|asked| println!("    {:?}: {:?}", asked.way, asked.statement));
        }
    }
}

/// The closing line, and whether all held.
fn closing(args: &Args, took: Duration, total: &Summary, found: &BTreeMap<&'static str, u32>) -> ExitCode {
    let n: u64 = total.statuses.values().sum();
    let by: Vec<String> = total.statuses.iter().map(|(status, n)| format!("{status}: {n}")).collect();
    let most = total.most_memory >> 20;
    let bound = args.memory + args.more_memory;
    let broken: Vec<String> = found.iter().map(|(what, n)| format!("{what} ({n})")).collect();
    let outcome = if broken.is_empty() { "all held".to_owned() } else { format!("BROKEN: {}", broken.join(", ")) };
    println!(
        "adversary: seed {}, {} s, {n} answers ({}), most memory {most} of {bound} MiB, slowest {:.2} s: {outcome}",
        args.seed,
        took.as_secs(),
        by.join(", "),
        total.slowest.as_secs_f64(),
    );
    if args.honest {
        let (n, slowest) = (total.honest.len(), total.honest.iter().max().copied().unwrap_or_default());
        let p99 = percentile_99(&total.honest).as_secs_f64();
        println!("adversary: {n} honest requests beside them, p99 {p99:.3} s, slowest {:.3} s", slowest.as_secs_f64());
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
