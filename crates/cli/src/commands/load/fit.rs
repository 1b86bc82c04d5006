//! `fenxi load fit`: a workload like the load of a run, and how near another run came to it.

use std::{ops::ControlFlow, path::PathBuf, process::ExitCode};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_load::fit::{Knob, Seen, SeenStatement};
use fenxi_model::RunId;
use fenxi_query::{Answer, Engine, Scope, Value};
use fenxi_source::Root;
use fenxi_store::Store;
use serde_json::json;

use crate::{
    machine::hostname,
    options::{DbArgs, EngineArgs, Global, JsonArgs, seconds},
    print, stores, whole,
};

/// `fenxi load fit`
#[derive(Debug, Args)]
#[command(after_help = "\
Makes a workload file with the statements per transaction of a run that was
recorded with --db (PostgreSQL: pg_stat_statements), with the rows of each,
and, where the load was one of `fenxi load run`, its round trips and bytes.
Prints how to run it with the connections and the rate of the run, and what
could not be fitted. A URL is recorded first, for --for, and kept as a run.
With a second run, one of the fitted workload, shows how near that came.

Examples:
  fenxi load fit @1 -o mine.toml
  fenxi load fit postgres://mon@db1/shop --for 1m -o mine.toml
  fenxi load prepare postgres:///test -w ./mine.toml
  fenxi load run postgres:///test -w ./mine.toml -c 16 --rate 250 --record
  fenxi load fit @2 @1                     the load, and that of the fit")]
pub struct FitArgs {
    /// Run, or database URL
    #[arg(value_name = "RUN|URL")]
    pub run: String,
    /// Run of the fitted workload, to be compared
    #[arg(value_name = "REACHED")]
    pub reached: Option<String>,
    /// Only statements of this server of the run
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Recording time of a URL
    #[arg(long = "for", default_value = "30s", value_name = "TIME", value_parser = seconds)]
    pub duration: f64,
    /// Write the workload to this file [default: standard output]
    #[arg(long, short, value_name = "FILE", conflicts_with = "reached")]
    pub output: Option<PathBuf>,
    /// Form of the comparison
    #[command(flatten)]
    pub form: JsonArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// A load as a run shows it.
struct Load {
    seen: Seen,
    clients: Option<f64>,
    rate: f64,
}

/// Fits a workload, or compares.
pub fn run(global: &Global, args: &FitArgs) -> anyhow::Result<ExitCode> {
    let (store, run) = if args.run.contains("://") {
        record(global, args)?
    } else {
        let store = stores::open(global)?;
        let run = store.select_one(&args.run)?;
        (store, run)
    };
    let load = of_run(&store, &run, args)?;
    if let Some(reached) = &args.reached {
        let reached = of_run(&store, &store.select_one(reached)?, args)?;
        return compare(args, &load, &reached);
    }
    let fitted = load.seen.fit().with_context(|| {
        format!(
            "{run} has no statements of transactions but those that begin and end them; MariaDB and MySQL do not count prepared ones: \
             make the load without them (`fenxi load run --protocol simple`)"
        )
    })?;
    let text = format!("# {run}: {:.1} transactions per second\n{}", load.rate, fitted.toml);
    let place = match &args.output {
        Some(path) => {
            whole::write(path, whole::Output::Anything, |file| Ok(std::io::Write::write_all(file, text.as_bytes())?))?;
            path.display().to_string()
        }
        None => {
            print::text(&text)?;
            "FILE".to_owned()
        }
    };
    if !global.quiet {
        let mut lines: Vec<String> = fitted.missing.iter().map(|what| format!("not fitted: {what}")).collect();
        let connections = load.clients.map_or_else(String::new, |n| format!(" -c {}", n.round().max(1.0)));
        lines.push(format!("next: fenxi load run URL -w {place}{connections} --rate {:.1}", load.rate));
        print::messages(&lines.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn all(load: &Load) -> Vec<Knob> {
    let rate = Knob { name: "transactions per second", value: Some(load.rate) };
    let clients = Knob { name: "connections", value: load.clients };
    [rate, clients].into_iter().chain(load.seen.knobs()).collect()
}

fn compare(args: &FitArgs, load: &Load, reached: &Load) -> anyhow::Result<ExitCode> {
    let pairs: Vec<(Knob, Knob)> = all(load).into_iter().zip(all(reached)).collect();
    let off = |(one, other): &(Knob, Knob)| {
        one.value.zip(other.value).filter(|(one, _)| *one > 0.0).map(|(one, other)| 100.0 * (other / one - 1.0))
    };
    if args.form.is_json() {
        let line = |pair: &(Knob, Knob)| json!({ "knob": pair.0.name, "load": pair.0.value, "fit": pair.1.value, "off_pct": off(pair) });
        print::json(&pairs.iter().map(|pair| format!("{}\n", line(pair))).collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let row = |pair: &(Knob, Knob)| {
        let off = off(pair).map_or_else(|| "-".to_owned(), |off| format!("{off:+.1} %"));
        vec![pair.0.name.to_owned(), number(pair.0.value), number(pair.1.value), off]
    };
    let rows: Vec<Vec<String>> = pairs.iter().map(row).collect();
    print::text(&print::table(&["PER TRANSACTION", "LOAD", "FIT", "OFF"], 1..4, &[], &rows, false))?;
    Ok(ExitCode::SUCCESS)
}

/// Records what a server counts of its load.
fn record(global: &Global, args: &FitArgs) -> anyhow::Result<(Store, RunId)> {
    let (root, store) = (Root::live(), stores::create(global)?);
    let host = hostname(&root);
    let plan = fenxi_record::Plan {
        store: Some(store.clone()),
        name: "load-fit".to_owned(),
        duration_s: Some(args.duration),
        random: stores::random(),
        ..fenxi_record::Plan::new(
            DbArgs::of(vec![args.run.clone()]).source(Vec::new(), 1.0)?.into_iter().collect(),
            root,
            host,
            1.0,
        )
    };
    let kept = fenxi_record::record(plan, &mut |_| ControlFlow::Continue(()))?;
    Ok((store, kept.run.context("nothing was recorded")?))
}

const STATEMENTS: &str = "\
SELECT server, statement, calls_per_s, rows_per_s, seen_s
FROM db_statement_mean
WHERE in_total AND statement IS NOT NULL AND calls_per_s > 0 AND ($server = '' OR server = $server)
ORDER BY server, calls_per_s DESC, digest";

const SERVERS: &str = "\
WITH trips AS (SELECT run, host, server, median(round_trip_ms) / 1e3 AS round_trip_s FROM db GROUP BY run, host, server),
    counted AS (SELECT run, host, server, avg(n) AS sessions FROM
        (SELECT run, host, server, t, sum(sessions) AS n FROM db WHERE database IS NULL GROUP BY run, host, server, t)
        GROUP BY run, host, server)
SELECT s.server, transactions_per_s, idle_in_transaction_time, round_trip_s, sessions, seen_s
FROM db_server s LEFT JOIN trips USING (run, host, server) LEFT JOIN counted USING (run, host, server)
WHERE $server = '' OR s.server = $server
ORDER BY transactions_per_s DESC NULLS LAST";

const DRIVER: &str = "\
SELECT name, max(value) AS value
FROM result
WHERE source = 'fenxi' AND name IN ('throughput', 'clients', 'round_trips_per_transaction', 'reply_bytes', 'server_cpu_per_transaction')
GROUP BY name";

fn of_run(store: &Store, run: &RunId, args: &FitArgs) -> anyhow::Result<Load> {
    let engine = Engine::on_demand(store, &args.engine.options())?;
    let scope = Scope::of([run.clone()]);
    let named = Value::Text(args.server.clone().unwrap_or_default());
    let ask = |sql: &str| engine.ours(sql, &[("server", named.clone())], &scope);
    let (servers, statements) = (ask(SERVERS)?, ask(STATEMENTS)?);
    let first = |name: &str| servers.f64s(name).first().copied().flatten();
    let server = servers.strings("server").first().cloned().flatten();
    let (Some(server), Some(transactions_per_s)) = (server, first("transactions_per_s").filter(|n| *n > 0.0)) else {
        bail!("{run} has no transactions of a database server; record with --db URL");
    };
    let driver = engine.ours(DRIVER, &[], &scope)?;
    let names = driver.strings("name");
    let of_driver = |name: &str| {
        let place = names.iter().position(|known| known.as_deref() == Some(name))?;
        driver.f64s("value")[place]
    };
    // The load of a driver is whole in both counts, however long each of them goes on before and after it.
    let server_s = of_driver("throughput").and(first("seen_s"));
    let statements = statements_of(&statements, &server, server_s);
    if statements.is_empty() {
        bail!(
            "{run} has no statements of {server}: they are counted by pg_stat_statements (PostgreSQL) or performance_schema (MariaDB, MySQL)"
        );
    }
    let round_trips = of_driver("round_trips_per_transaction");
    let seen = Seen {
        statements,
        transactions_per_s,
        idle_in_transaction: first("idle_in_transaction_time"),
        round_trips,
        reply_bytes: round_trips.zip(of_driver("reply_bytes")).map(|(trips, bytes)| trips * bytes),
        round_trip_s: first("round_trip_s"),
        server_cpu_s: of_driver("server_cpu_per_transaction"),
    };
    let rate = of_driver("throughput").unwrap_or(transactions_per_s);
    Ok(Load { seen, clients: of_driver("clients").or(first("sessions")), rate })
}

/// The statements of a server, per second of the time in which they were counted, or of `of_s` seconds.
fn statements_of(answer: &Answer, server: &str, of_s: Option<f64>) -> Vec<SeenStatement> {
    let (servers, texts) = (answer.strings("server"), answer.strings("statement"));
    let (calls, rows) = (answer.f64s("calls_per_s"), answer.f64s("rows_per_s"));
    let seen_s = answer.f64s("seen_s");
    let row = |row: usize| {
        let is_its = servers[row].as_deref() == Some(server);
        let per_s = |rate: f64| rate * of_s.zip(seen_s[row]).map_or(1.0, |(of_s, seen_s)| seen_s / of_s);
        is_its.then(|| {
            let (calls_per_s, rows_per_s) = (per_s(calls[row]?), rows[row].map(per_s));
            Some(SeenStatement { text: texts[row].clone()?, calls_per_s, rows_per_s })
        })?
    };
    (0..answer.n_rows()).filter_map(row).collect()
}
