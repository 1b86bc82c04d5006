//! `fenxi trend`.

mod overview;

use std::process::ExitCode;

use clap::Args;
use fenxi_compare::{LEAST, Level, Point, Room, Trend, TrendRequest, Trends};
use fenxi_model::Unit;
use serde_json::json;

use crate::{
    options::{Global, PageArgs, WindowArg},
    print,
    progress::plural,
    stores,
};

/// `fenxi trend`
#[derive(Debug, Args)]
#[command(after_help = "\
A metric is the name of a result, TABLE.COLUMN or, for one series of a table,
TABLE.COLUMN[KEY=VALUE]. Without one, all results of the runs are listed, each
with a sparkline and its last change point. With 10 runs or more, change points
are detected (E-divisive means, with a permutation test at the 5 % level).

Runs of different programs are followed each by themselves, unless --where
chooses the runs.

Examples:
  fenxi trend
  fenxi trend --where branch=main --batch job -f markdown
  fenxi trend throughput --where branch=main
  fenxi trend cpu.sys --last 50
  fenxi trend 'disk.await_ms[device=sda]' -f json")]
pub struct TrendArgs {
    /// Metric to follow [default: all results]
    #[arg(value_name = "METRIC")]
    pub metric: Option<String>,
    /// Include only runs that match, such as tag=value (repeatable; all must match)
    #[arg(long = "where", value_name = "SELECTOR")]
    pub only: Vec<String>,
    /// Include only the latest N runs
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Make runs with one value of this tag one point, their mean
    #[arg(long, value_name = "TAG")]
    pub batch: Option<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
}

impl TrendArgs {
    /// So many points, by what a point is.
    fn points(&self, n: usize) -> String {
        match self.batch {
            Some(_) if n != 1 => format!("{n} batches"),
            Some(_) => "1 batch".to_owned(),
            None => plural(n as u64, "run"),
        }
    }
}

const HEADER: [&str; 4] = ["start (UTC)", "run", "value", ""];
/// Columns of the longest bar.
const BAR: f64 = 30.0;
/// Columns before a bar.
const BEFORE_BAR: f64 = 60.0;

/// Prints a metric over the runs that have it, the oldest first.
pub fn run(global: &Global, args: &TrendArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let request = TrendRequest {
        metric: args.metric.as_deref().unwrap_or_default(),
        only: &args.only,
        last: args.last,
        window: &args.part.window,
        batch: args.batch.as_deref(),
    };
    // Who chose the runs takes them as one series.
    let split = |trend: Trend| if args.only.is_empty() { trend.by_program() } else { vec![(None, trend)] };
    let json = args.form.is_json();
    let text = match &args.metric {
        None if json => {
            Trend::all(&store, request)?.into_iter().flat_map(split).map(|(_, trend)| json_lines(&trend)).collect()
        }
        None => overview::of(&Trends::read(&store, request)?, args),
        Some(_) => {
            let groups = split(Trend::read(&store, request, &Room::default())?);
            let several = groups.len() > 1;
            let show = |(program, trend): &Series| match json {
                true => json_lines(trend),
                false => table(trend, program.as_deref().filter(|_| several), args),
            };
            groups.iter().map(show).collect::<Vec<_>>().join(if json { "" } else { "\n" })
        }
    };
    print::paged(print::Form::json_if(json), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A trend, and the program whose runs it has where they are of several.
type Series = (Option<String>, Trend);

fn table(trend: &Trend, program: Option<&str>, args: &TrendArgs) -> String {
    let unit = Unit::from_symbol(&trend.unit);
    let most = trend.points.iter().map(|p| p.value.abs()).fold(0.0, f64::max);
    let width = print::width(&std::io::stdout());
    let longest = width.map_or(BAR, |width| (width as f64 - BEFORE_BAR).clamp(0.0, BAR));
    let bar = |value: f64| "█".repeat((longest * value.abs() / most).round().max(0.0) as usize);
    let row = |p: &Point| vec![p.start.to_the_second(), place(p, args), unit.human(p.value).to_string(), bar(p.value)];
    let of = program.map_or_else(String::new, |program| format!(" of {}", print::visible(program)));
    let mut out = format!("{} of {}{of}\n", print::visible(&trend.metric), args.points(trend.points.len()));
    let rows: Vec<Vec<String>> = trend.points.iter().map(row).collect();
    if args.form.is_markdown() {
        return markdown(trend, &out, &rows);
    }
    let table = print::fitted(&HEADER, &[2], &[3], &rows, width).text;
    for (i, line) in table.lines().enumerate() {
        // The first line is the header.
        let level = i.checked_sub(1).and_then(|place| trend.changes.iter().find(|level| level.at == place));
        if let Some(Level { before, after, .. }) = level {
            let show = |value: &f64| unit.human(*value);
            out.push_str(&format!("── changed by {}: {} → {}\n", share(*before, *after), show(before), show(after)));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if trend.points.len() < LEAST {
        out.push_str(&format!("change point detection needs {} or more\n", args.points(LEAST)));
    } else if trend.changes.is_empty() {
        out.push_str("no significant change point\n");
    }
    out
}

/// Name of a point.
fn place(point: &Point, args: &TrendArgs) -> String {
    if args.batch.is_some() { point.name.clone() } else { point.run.to_string() }
}

/// A change of level as a share; as it is, where the level before was 0.
fn share(before: f64, after: f64) -> String {
    if before == 0.0 {
        return format!("{:+}", after - before);
    }
    format!("{:+.1} %", 100.0 * (after - before) / before.abs())
}

/// A trend as a table of Markdown, where a change point is a mark behind the first value of the new level.
fn markdown(trend: &Trend, title: &str, rows: &[Vec<String>]) -> String {
    let mut rows: Vec<Vec<String>> = rows.iter().map(|row| [&row[..3], &[String::new()]].concat()).collect();
    for level in &trend.changes {
        rows[level.at][3] = format!("changed by {}", share(level.before, level.after));
    }
    format!("{title}\n{}", print::markdown_table(&["start (UTC)", "run", "value", "change point"], 2..3, &rows))
}

fn json_lines(trend: &Trend) -> String {
    let line = |(i, p): (usize, &Point)| {
        let changed = trend.changes.iter().find(|level| level.at == i);
        let line = json!({
            "run": p.run, "start": p.start.to_the_second(), "value": p.value, "unit": trend.unit,
            "metric": trend.metric, "name": p.name,
            "changed": changed.map(|level| json!({ "before": level.before, "after": level.after })),
        });
        format!("{line}\n")
    };
    trend.points.iter().enumerate().map(line).collect()
}
