//! `fenxi trend`.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_analyze::{Metric, RunSummary, change_points, mean};
use fenxi_model::{RunId, Unit, near, table};
use fenxi_store::{Store, Summary};
use serde_json::json;

use crate::{
    args::Cli,
    print,
    progress::plural,
    stores,
    summaries::{Chosen, summary},
};

/// `fenxi trend`
#[derive(Debug, Args)]
#[command(after_help = "\
A metric is a result of the runs by its name, or TABLE.COLUMN, and of a series with keys
TABLE.COLUMN[KEY=VALUE]. With 10 runs or more, the places are told from which on the metric was another one
(E-divisive: a change is told when no more than one order in twenty of the same values would show it so
clearly).

Examples:
  fenxi trend throughput --where branch=main
  fenxi trend cpu.sys --last 50
  fenxi trend 'disk.await_ms[device=sda]' --json")]
pub struct TrendArgs {
    /// What to follow
    #[arg(value_name = "METRIC")]
    pub metric: String,
    /// Only runs that this names, as tag=value; repeated, all must
    #[arg(long = "where", value_name = "SELECTOR")]
    pub only: Vec<String>,
    /// Only the latest so many runs
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Part of the runs: `all`, a window's name, FROM..TO, or `auto`: the steady part
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub window: String,
    /// One JSON object per run and line
    #[arg(long)]
    pub json: bool,
}

/// Least runs in which changes are looked for.
const LEAST: usize = 10;
/// Columns of the longest bar.
const BAR: f64 = 30.0;

/// Prints a metric over the runs that have it, the oldest first.
pub fn run(cli: &Cli, args: &TrendArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let trend = Trend::read(&store, args)?;
    let text = if args.json { trend.json() } else { trend.text() };
    print::data(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// One run's value.
struct Point {
    run: RunId,
    start: String,
    value: f64,
}

struct Trend {
    metric: String,
    unit: Unit,
    points: Vec<Point>,
    /// Places of the points with which a new level begins.
    changes: Vec<usize>,
}

impl Trend {
    fn read(store: &Store, args: &TrendArgs) -> anyhow::Result<Trend> {
        let wanted = Wanted::parse(&args.metric)?;
        // An average is no further run of what it averages.
        let mut runs: Vec<Summary> = store.summaries()?.into_iter().filter(|s| s.kind != fenxi_average::KIND).collect();
        for selector in &args.only {
            let ids: BTreeSet<RunId> = store.select(selector)?.into_iter().collect();
            runs.retain(|s| ids.contains(&s.id));
        }
        runs.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
        let surplus = args.last.map_or(0, |n| runs.len().saturating_sub(n));
        let by: Vec<String> = wanted.labels();
        let mut unit = wanted.unit();
        let (mut points, mut names) = (Vec::new(), BTreeSet::new());
        for run in runs.drain(surplus..) {
            let of_run = summary(store, &run.id, Chosen { by: &by, window: &args.window })?;
            match wanted.value(&of_run) {
                Some(value) => points.push(Point { start: run.start.to_the_second(), run: run.id, value }),
                None => names.extend(of_run.results.keys().cloned()),
            }
            let name = args.metric.strip_prefix("result.").unwrap_or(&args.metric);
            if let Some(outcome) = of_run.results.get(name) {
                unit = Unit::from_symbol(&outcome.unit);
            }
        }
        if points.is_empty() {
            let near = near(&args.metric, names.iter().map(String::as_str));
            let hint = near.first().map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            bail!("no run has the metric `{}`{hint}", args.metric);
        }
        let values: Vec<f64> = points.iter().map(|p| p.value).collect();
        let changes = if values.len() < LEAST { Vec::new() } else { change_points(&values) };
        Ok(Trend { metric: args.metric.clone(), unit, points, changes })
    }

    /// The means before and after the change at `place`, each of the runs as far as the next change.
    fn levels(&self, place: usize) -> (f64, f64) {
        let at = self.changes.iter().position(|c| *c == place).unwrap_or(0);
        let from = if at == 0 { 0 } else { self.changes[at - 1] };
        let to = self.changes.get(at + 1).copied().unwrap_or(self.points.len());
        let level = |points: &[Point]| mean(&points.iter().map(|p| p.value).collect::<Vec<_>>());
        (level(&self.points[from..place]), level(&self.points[place..to]))
    }

    fn text(&self) -> String {
        let most = self.points.iter().map(|p| p.value.abs()).fold(0.0, f64::max);
        let bar = |value: f64| "█".repeat((BAR * value.abs() / most).round().max(0.0) as usize);
        let row =
            |p: &Point| vec![p.start.clone(), p.run.to_string(), self.unit.human(p.value).to_string(), bar(p.value)];
        let mut out = format!("{} of {}\n", self.metric, plural(self.points.len() as u64, "run"));
        let rows: Vec<Vec<String>> = self.points.iter().map(row).collect();
        let table = print::columns(&["start (UTC)", "run", "value", ""], &[2], &rows);
        for (i, line) in table.lines().enumerate() {
            // The first line is the header.
            if let Some(place) = i.checked_sub(1).filter(|place| self.changes.contains(place)) {
                let (before, after) = self.levels(place);
                let change = 100.0 * (after - before) / before.abs();
                let show = |value: f64| self.unit.human(value);
                out.push_str(&format!("── changed by {change:+.1} %: {} → {}\n", show(before), show(after)));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if self.points.len() < LEAST {
            out.push_str(&format!("changes are looked for in {LEAST} runs or more\n"));
        } else if self.changes.is_empty() {
            out.push_str("no change that is more than chance\n");
        }
        out
    }

    fn json(&self) -> String {
        let line = |(i, p): (usize, &Point)| {
            let changed = self.changes.contains(&i).then(|| self.levels(i));
            let line = json!({
                "run": p.run, "start": p.start, "value": p.value, "unit": self.unit.symbol(),
                "changed": changed.map(|(before, after)| json!({ "before": before, "after": after })),
            });
            format!("{line}\n")
        };
        self.points.iter().enumerate().map(line).collect()
    }
}

/// What is followed.
enum Wanted {
    Result(String),
    Series(Metric),
}

impl Wanted {
    fn parse(text: &str) -> anyhow::Result<Wanted> {
        let Some((name, rest)) = text.split_once('.') else { return Ok(Wanted::Result(text.to_owned())) };
        let (column, key) = match rest.split_once('[') {
            Some((column, key)) => (column, key.trim_end_matches(']')),
            None => (rest, ""),
        };
        let Some(found) = table(name).filter(|_| name != "result") else { return Ok(Wanted::Result(text.to_owned())) };
        if found.index_of(column).is_none_or(|place| !found.columns[place].is_value()) {
            let columns = found.columns.iter().filter(|c| c.is_value()).map(|c| c.name);
            let hint = near(column, columns).first().map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            bail!("table `{name}` has no column of numbers `{column}`{hint}");
        }
        Ok(Wanted::Series(Metric { table: name.to_owned(), key: key.to_owned(), column: column.to_owned() }))
    }

    fn labels(&self) -> Vec<String> {
        match self {
            Wanted::Result(_) => Vec::new(),
            Wanted::Series(metric) => {
                metric.key.split(',').filter_map(|pair| Some(pair.split_once('=')?.0.to_owned())).collect()
            }
        }
    }

    fn unit(&self) -> Unit {
        let Wanted::Series(metric) = self else { return Unit::None };
        let column = table(&metric.table).and_then(|t| Some(t.columns[t.index_of(&metric.column)?].unit));
        column.unwrap_or(Unit::None)
    }

    fn value(&self, run: &RunSummary) -> Option<f64> {
        match self {
            Wanted::Result(name) => {
                let name = name.strip_prefix("result.").unwrap_or(name);
                run.results.get(name).map(|outcome| outcome.value)
            }
            Wanted::Series(metric) if metric.key.is_empty() => run.value(&metric.table, &metric.column),
            Wanted::Series(metric) => run.metrics.get(metric).copied(),
        }
    }
}
