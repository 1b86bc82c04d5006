//! `fenxi average`.

use std::{collections::BTreeMap, process::ExitCode};

use clap::Args;
use fenxi_average::{Plan, average};
use fenxi_compare::{Averaging, Outliers, group};
use fenxi_model::RunId;
use serde_json::json;

use crate::{
    args::{Cli, key_value},
    commands::representative::list,
    print,
    progress::{Steps, plural},
    stop::Stop,
    stores,
};

/// `fenxi average`
#[derive(Debug, Args)]
#[command(after_help = "\
The average is a new run: numbers are averaged interval by interval from the
begin of each run (or of its window), distributions are merged, results
averaged; the standard deviations are in the tables `spread.cpu`,
`spread.result` … Facts are those of the representative run; what is not the
same in all runs is listed under the topic `differs`. Percentiles have no
average and are left out.

Examples:
  fenxi average kernel=6.18 --name kernel-6.18
  fenxi average a1 a2 a3 a4 --name a --window 60s..540s --drop-outliers")]
pub struct AverageArgs {
    /// Runs of one kind
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Name of the average
    #[arg(long, short)]
    pub name: Option<String>,
    /// Label of the average, KEY=VALUE; can be repeated
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
    /// Part of the runs: `all`, a window's name, FROM..TO, or `auto`: the steady part
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub window: String,
    /// Leave out runs that lie much farther from the others than usual
    #[arg(long)]
    pub drop_outliers: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// Averages runs into a new one.
pub fn run(cli: &Cli, args: &AverageArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let runs = group(&store, &args.runs.join(","))?;
    let outliers = if args.drop_outliers { Outliers::LeaveOut } else { Outliers::Keep };
    let Averaging { found, members, left_out, remarks } = Averaging::of(&store, &runs, &args.window, outliers)?;
    let of: Vec<RunId> = members.iter().map(|member| member.id.clone()).collect();
    let stop = Stop::on_interrupt();
    let bar = Steps::new(cli.quiet || args.json, "averaging");
    let plan = Plan {
        store: &store,
        members,
        name: args.name.clone(),
        tags: args.tag.iter().cloned().collect::<BTreeMap<_, _>>(),
        random: stores::random(),
        remarks,
    };
    let made = average(plan, |table, i, n| {
        bar.show(table, i, n);
        !stop.asked()
    });
    bar.clear();
    let id = made?;
    if args.json {
        let outliers: Vec<&RunId> = found.runs.iter().filter(|s| s.outlier).map(|s| &s.run).collect();
        let line = json!({
            "run": id, "of": of, "representative": found.representative, "outliers": outliers, "left_out": left_out,
        });
        print::data(format!("{line}\n").as_bytes())?;
    } else if !cli.quiet {
        print::data(list(&found, false).as_bytes())?;
        print::message(&format!("average of {}: {id}", plural(of.len() as u64, "run")));
    }
    Ok(ExitCode::SUCCESS)
}
