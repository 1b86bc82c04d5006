//! `fenxi average`.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_average::{Member, Plan, average};
use fenxi_compare::{Representative, Stood, group, windows::choose};
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
    let found = Representative::of(&store, &runs, &args.window)?;
    let dropped = |stood: &Stood| args.drop_outliers && stood.outlier;
    let mut kept: Vec<&Stood> = found.runs.iter().filter(|stood| !dropped(stood)).collect();
    kept.sort_by_key(|stood| !stood.representative);
    let member = |stood: &&Stood| {
        let window = choose(&store, &store.run(&stood.run)?, &args.window)?;
        Ok(Member { id: stood.run.clone(), window })
    };
    let members = kept.iter().map(member).collect::<anyhow::Result<Vec<Member>>>()?;
    let remark = |stood: &Stood| {
        let what = match (stood.outlier, dropped(stood)) {
            (_, true) => ", an outlier, left out",
            (true, _) => ", an outlier",
            _ => "",
        };
        (format!("distance of {}", stood.run), format!("{:.2}{what}", stood.distance))
    };
    let remarks = found.runs.iter().map(remark).collect();
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
        let of = |which: &dyn Fn(&Stood) -> bool| {
            found.runs.iter().filter(|stood| which(stood)).map(|stood| &stood.run).collect::<Vec<_>>()
        };
        let line = json!({
            "run": id, "of": kept.iter().map(|stood| &stood.run).collect::<Vec<_>>(),
            "representative": found.representative,
            "outliers": of(&|stood| stood.outlier), "left_out": of(&dropped),
        });
        print::data(format!("{line}\n").as_bytes())?;
    } else if !cli.quiet {
        print::data(list(&found, false).as_bytes())?;
        print::message(&format!("average of {}: {id}", plural(kept.len() as u64, "run")));
    }
    Ok(ExitCode::SUCCESS)
}
