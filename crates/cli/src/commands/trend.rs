//! `fenxi trend`.

use std::process::ExitCode;

use clap::Args;
use fenxi_compare::{LEAST, Level, Point, Room, Trend, TrendRequest};
use fenxi_model::Unit;
use serde_json::json;

use crate::{
    options::{Global, JsonArgs, WindowArg},
    print,
    progress::plural,
    stores,
};

/// `fenxi trend`
#[derive(Debug, Args)]
#[command(after_help = "\
A metric is the name of a result, TABLE.COLUMN or, for one series of a table,
TABLE.COLUMN[KEY=VALUE]. With 10 runs or more, change points are detected
(E-divisive means, with a permutation test at the 5 % level).

Runs of different programs are followed each by themselves, unless --where
chooses the runs.

Examples:
  fenxi trend throughput --where branch=main
  fenxi trend cpu.sys --last 50
  fenxi trend 'disk.await_ms[device=sda]' -f json")]
pub struct TrendArgs {
    /// Metric to follow
    #[arg(value_name = "METRIC")]
    pub metric: String,
    /// Include only runs that match, such as tag=value (repeatable; all must match)
    #[arg(long = "where", value_name = "SELECTOR")]
    pub only: Vec<String>,
    /// Include only the latest N runs
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

const HEADER: [&str; 4] = ["start (UTC)", "run", "value", ""];
/// Columns of the longest bar.
const BAR: f64 = 30.0;
/// Columns before a bar.
const BEFORE_BAR: f64 = 60.0;

/// Prints a metric over the runs that have it, the oldest first.
pub fn run(global: &Global, args: &TrendArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let request = TrendRequest { metric: &args.metric, only: &args.only, last: args.last, window: &args.part.window };
    let trend = Trend::read(&store, request, &Room::default())?;
    // Who chose the runs takes them as one series.
    let groups = if args.only.is_empty() { trend.by_program() } else { vec![(None, trend)] };
    let several = groups.len() > 1;
    let show = |(program, trend): &(Option<String>, Trend)| match args.form.is_json() {
        true => json_lines(trend),
        false => table(trend, program.as_deref().filter(|_| several)),
    };
    let text = groups.iter().map(show).collect::<Vec<_>>().join(if args.form.is_json() { "" } else { "\n" });
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    Ok(ExitCode::SUCCESS)
}

fn table(trend: &Trend, program: Option<&str>) -> String {
    let unit = Unit::from_symbol(&trend.unit);
    let most = trend.points.iter().map(|p| p.value.abs()).fold(0.0, f64::max);
    let width = print::width(&std::io::stdout());
    let longest = width.map_or(BAR, |width| (width as f64 - BEFORE_BAR).clamp(0.0, BAR));
    let bar = |value: f64| "█".repeat((longest * value.abs() / most).round().max(0.0) as usize);
    let row =
        |p: &Point| vec![p.start.to_the_second(), p.run.to_string(), unit.human(p.value).to_string(), bar(p.value)];
    let of = program.map_or_else(String::new, |program| format!(" of {}", print::visible(program)));
    let mut out = format!("{} of {}{of}\n", print::visible(&trend.metric), plural(trend.points.len() as u64, "run"));
    let rows: Vec<Vec<String>> = trend.points.iter().map(row).collect();
    let table = print::fitted(&HEADER, &[2], &[3], &rows, width).text;
    for (i, line) in table.lines().enumerate() {
        // The first line is the header.
        let level = i.checked_sub(1).and_then(|place| trend.changes.iter().find(|level| level.at == place));
        if let Some(Level { before, after, .. }) = level {
            let change = 100.0 * (after - before) / before.abs();
            let show = |value: &f64| unit.human(*value);
            out.push_str(&format!("── changed by {change:+.1} %: {} → {}\n", show(before), show(after)));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if trend.points.len() < LEAST {
        out.push_str(&format!("change point detection needs {LEAST} runs or more\n"));
    } else if trend.changes.is_empty() {
        out.push_str("no significant change point\n");
    }
    out
}

fn json_lines(trend: &Trend) -> String {
    let line = |(i, p): (usize, &Point)| {
        let changed = trend.changes.iter().find(|level| level.at == i);
        let line = json!({
            "run": p.run, "start": p.start.to_the_second(), "value": p.value, "unit": trend.unit,
            "changed": changed.map(|level| json!({ "before": level.before, "after": level.after })),
        });
        format!("{line}\n")
    };
    trend.points.iter().enumerate().map(line).collect()
}
