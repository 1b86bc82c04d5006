//! `fenxi average`.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_average::{Member, Plan, average};
use serde_json::json;

use crate::{
    args::{Cli, key_value},
    commands::representative::{Stood, list},
    print,
    progress::{Steps, plural},
    stop::Stop,
    stores::{self, group},
    windows::choose,
};

/// `fenxi average`
#[derive(Debug, Args)]
#[command(after_help = "\
The average is a new run: numbers are averaged interval by interval from the begin of each run (or of its
window), distributions are merged, results averaged; the standard deviations are in the tables
`spread.cpu`, `spread.result` … Facts are those of the representative run; what is not the same in all
runs is listed under the topic `differs`. Percentiles have no average and are left out.

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
    if runs.len() < 2 {
        bail!("an average takes two runs or more; `{}` names one", args.runs.join(" "));
    }
    let stood = Stood::of(&store, &runs, &args.window)?;
    let dropped = if args.drop_outliers { stood.found.outliers.clone() } else { Vec::new() };
    let mut order: Vec<usize> = (0..runs.len()).filter(|i| !dropped.contains(i)).collect();
    order.sort_by_key(|i| *i != stood.found.representative);
    let members = order
        .iter()
        .map(|i| {
            let window = choose(&store, &store.run(&runs[*i])?, &args.window)?;
            Ok(Member { id: runs[*i].clone(), window })
        })
        .collect::<anyhow::Result<Vec<Member>>>()?;
    let mut remarks = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        let what = match (stood.found.outliers.contains(&i), dropped.contains(&i)) {
            (_, true) => ", an outlier, left out",
            (true, _) => ", an outlier",
            _ => "",
        };
        let distance = stood.found.from_representative[i];
        remarks.push((format!("distance of {run}"), format!("{distance:.2}{what}")));
    }
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
        let line = json!({
            "run": id, "of": order.iter().map(|i| &runs[*i]).collect::<Vec<_>>(),
            "representative": runs[stood.found.representative],
            "outliers": stood.found.outliers.iter().map(|i| &runs[*i]).collect::<Vec<_>>(),
            "left_out": dropped.iter().map(|i| &runs[*i]).collect::<Vec<_>>(),
        });
        print::data(format!("{line}\n").as_bytes())?;
    } else if !cli.quiet {
        print::data(list(&runs, &stood, false).as_bytes())?;
        print::message(&format!("average of {}: {id}", plural(order.len() as u64, "run")));
    }
    Ok(ExitCode::SUCCESS)
}
