//! `fenxi average`.

use std::{collections::BTreeMap, process::ExitCode};

use clap::Args;
use fenxi_compare::average::{Plan, average};
use fenxi_compare::{Averaging, Outliers, Room, group};
use fenxi_model::RunId;
use serde_json::json;

use crate::{
    distances,
    options::{Global, JsonArgs, RunLabels, WindowArg},
    print,
    progress::{Steps, plural},
    stop::Stop,
    stores,
};

/// `fenxi average`
#[derive(Debug, Args)]
#[command(after_help = "\
The average is a new run. Samples are averaged interval by interval, aligned at
the start of each run (or of its window); histograms are merged; results are
averaged. Standard deviations are in the tables `spread.cpu`, `spread.result` …
Facts are those of the representative run; facts that differ between runs are
listed under the topic `differs`. Percentiles cannot be averaged and are
omitted.

The representative run is the medoid: the run nearest to all others over all
metrics, each in standard deviations. A distance of about 1 is ordinary; a run
much farther away is an outlier.

Examples:
  fenxi average kernel=6.18 --name kernel-6.18
  fenxi average a1 a2 a3 a4 --name a --window 60s..540s --drop-outliers
  fenxi average kernel=6.18 --representative    the most typical of them")]
#[command(mut_arg("name", |arg| arg.help("Name of the new run")))]
#[command(mut_arg("tag", |arg| arg.help("Tag of the new run (repeatable)")))]
pub struct AverageArgs {
    /// Repeated runs of the same experiment
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Only print which run is the most typical, and the distances of the others; average nothing
    #[arg(long, conflicts_with_all = ["name", "tag", "drop_outliers"])]
    pub representative: bool,
    /// Exclude outliers: runs unusually far from the others
    #[arg(long)]
    pub drop_outliers: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Averages runs into a new one.
pub fn run(global: &Global, args: &AverageArgs) -> anyhow::Result<ExitCode> {
    if args.representative {
        return distances::show(global, &args.runs, &args.part.window, args.form.is_json());
    }
    let store = stores::open(global)?;
    let runs = group(&store, &args.runs.join(","))?;
    let outliers = if args.drop_outliers { Outliers::LeaveOut } else { Outliers::Keep };
    let chosen = Averaging::of(&store, &runs, &args.part.window, outliers, Room::default())?;
    let Averaging { found, members, left_out, remarks } = chosen;
    let of: Vec<RunId> = members.iter().map(|member| member.id.clone()).collect();
    let stop = Stop::on_interrupt();
    let bar = Steps::new(global.quiet || args.form.is_json(), "averaging");
    let plan = Plan {
        store: &store,
        members,
        name: args.labels.name.clone(),
        tags: args.labels.tag.iter().cloned().collect::<BTreeMap<_, _>>(),
        random: stores::random(),
        remarks,
    };
    let made = average(plan, |step| {
        bar.show(step.table, step.number, step.tables);
        !stop.asked()
    });
    bar.clear();
    let id = made?;
    if args.form.is_json() {
        let outliers: Vec<&RunId> = found.runs.iter().filter(|s| s.outlier).map(|s| &s.run).collect();
        let line = json!({
            "run": id, "of": of, "representative": found.representative, "outliers": outliers, "left_out": left_out,
        });
        print::json(&format!("{line}\n"))?;
    } else if !global.quiet {
        print::text(&distances::list(&found, false))?;
        print::message(&format!("average of {}: {id}", plural(of.len() as u64, "run")));
    }
    Ok(ExitCode::SUCCESS)
}
