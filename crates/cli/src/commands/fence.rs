//! `fenxi fence`: CPU isolation for a process, and interrupts routed to other CPUs.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use fenxi_fence::{Cpus, FencePreview, Irq, Means, Outcome, Pick, Plan, Process};
use fenxi_model::format_cpus;
use serde_json::json;

use crate::{
    options::{Global, JsonArgs, RootArg, interval},
    print,
    progress::plural,
};

/// `fenxi fence`
#[derive(Debug, Args)]
#[command(after_help = "\
CPU isolation at run time (a cpuset shield): keeps a process on dedicated CPUs
and routes device interrupts to the other CPUs, so that they no longer steal its
CPU time (`fenxi trace irqsteal` measures how much). Without --apply, only the
plan is shown. --apply saves the previous state first; --undo restores it.

The process is confined by a cpuset (cgroup v1 or v2), or by the CPU affinity of
its threads where there is no cpuset. Default CPUs are those of its current
affinity, or else as many as it keeps busy, those with the fewest interrupts.

CPUs are numbers, or all threads of whole cores (core:0-3), one thread of each
(thread:0-3), sockets (socket:1) or NUMA nodes (node:0). Cores are counted from
0 in the order of their first CPUs.

Examples:
  fenxi fence                            interrupts and their CPU affinity
  fenxi fence -p 1234                    show the plan for a process
  fenxi fence -p 1234 --cpus 2-3 --apply isolate it on these CPUs
  fenxi fence -p 1234 --cpus core:4-7    on four whole cores: 8 CPUs with SMT
  fenxi fence --undo                     undo all fences")]
pub struct FenceArgs {
    /// Process to isolate
    #[arg(short, long, value_name = "PID")]
    pub pid: Option<u32>,
    /// CPUs for the process, such as 2-3,7 or core:0-3 [default: chosen as described below]
    #[arg(long, value_name = "LIST", requires = "pid")]
    pub cpus: Option<Pick>,
    /// Apply the plan
    #[arg(long, requires = "pid", conflicts_with_all = ["undo", "root", "json"])]
    pub apply: bool,
    /// Undo all fences, or that of one process
    #[arg(long, conflicts_with_all = ["cpus", "root", "json"])]
    pub undo: bool,
    /// Time to measure interrupts and the process before choosing CPUs
    #[arg(long, value_name = "TIME", default_value = "1", value_parser = interval)]
    pub watch: f64,
    /// Directory of saved states [default: $XDG_STATE_HOME/fenxi]
    #[arg(long, value_name = "DIR", env = "FENXI_STATE", hide_env_values = true)]
    pub state: Option<PathBuf>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// The machine
    #[command(flatten)]
    pub machine: RootArg,
}

/// Shows, fences or undoes.
pub fn run(_: &Global, args: &FenceArgs) -> anyhow::Result<ExitCode> {
    let folder = args.state.clone().unwrap_or_else(fenxi_fence::default_folder);
    if args.undo {
        return undo(args.pid, &folder);
    }
    let root = args.machine.open()?;
    let FencePreview { irqs, process, plan, beside } =
        fenxi_fence::look(&root, args.pid, args.cpus.as_ref(), args.watch)?;
    match (&process, &plan) {
        (Some(process), Some(plan)) if args.apply => apply(process, plan, &folder)?,
        _ if args.form.is_json() => {
            print::json(&format!("{:#}\n", to_json(&irqs, process.as_ref(), plan.as_ref(), &beside)))?
        }
        _ => print::text(&(text(&irqs, process.as_ref(), plan.as_ref()) + &shared(&beside)))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn apply(process: &Process, plan: &Plan, folder: &Path) -> anyhow::Result<()> {
    fenxi_fence::apply(process, plan, folder, &mut say)?;
    print::message(&format!("undo it with: fenxi fence --undo -p {}", process.pid));
    if fenxi_fence::irqbalance_runs() {
        print::message("irqbalance is running and may move interrupts back; stop it, or ban these interrupts in it");
    }
    Ok(())
}

fn undo(pid: Option<u32>, folder: &Path) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for path in fenxi_fence::fences(folder, pid)? {
        if !fenxi_fence::undo(&path, &mut say)? {
            code = ExitCode::FAILURE;
            print::message(&format!("what could not be restored is kept in {}", path.display()));
        }
    }
    Ok(code)
}

fn say(outcome: &Outcome) {
    outcome.done.iter().chain(&outcome.failed).for_each(|line| print::message(line));
}

/// Interrupts against the process's CPUs, and what would be changed.
fn text(irqs: &[Irq], process: Option<&Process>, plan: Option<&Plan>) -> String {
    let mut out = String::new();
    let allowed = process.map(Process::allowed);
    if let (Some(process), Some(allowed)) = (process, &allowed) {
        let busy = process.busy.map_or_else(String::new, |busy| format!(", keeps {busy:.2} CPUs busy"));
        let _ = writeln!(
            out,
            "process {} ({}): {}, allowed CPUs {}, ran on {}{busy}",
            process.pid,
            print::visible(&process.command),
            plural(process.threads.len() as u64, "thread"),
            format_cpus(allowed),
            format_cpus(&process.ran_on()),
        );
    }
    let mut header = vec!["IRQ", "DRIVER", "ALLOWED CPUS", "CURRENT CPUS", "/S"];
    header.extend(process.map(|_| "/S ON PROCESS CPUS"));
    header.extend(plan.map(|_| "PLANNED CPUS"));
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
    let rows: Vec<Vec<String>> = irqs
        .iter()
        .map(|irq| {
            let all = irq.rate();
            let mut cells = vec![
                irq.number.to_string(),
                irq.driver.clone(),
                format_cpus(&irq.allowed),
                format_cpus(irq.goes_to()),
                rate(all),
            ];
            cells.extend(allowed.as_ref().map(|allowed| rate(irq.rate_on(allowed))));
            cells.extend(plan.map(|plan| {
                plan.moves
                    .iter()
                    .find(|planned| planned.irq == irq.number)
                    .map_or_else(String::new, |planned| format_cpus(&planned.to))
            }));
            cells
        })
        .collect();
    let right: &[usize] = if process.is_some() { &[0, 4, 5] } else { &[0, 4] };
    out.push_str(&print::columns(&header, right, &rows));
    if let (Some(plan), Some(process)) = (plan, process) {
        let _ = writeln!(
            out,
            "\nA fence would isolate the process on CPUs {}, by {},\nand move {} to other CPUs. Nothing is changed yet: fenxi fence -p {} --cpus {} --apply",
            format_cpus(&plan.cpus),
            print::visible(&means(&plan.means)),
            plural(plan.moves.len() as u64, "interrupt"),
            process.pid,
            format_cpus(&plan.cpus),
        );
    }
    out
}

/// Note on CPUs that share cores with the fence.
fn shared(beside: &Cpus) -> String {
    if beside.is_empty() {
        return String::new();
    }
    format!(
        "CPUs {} are other threads of the same cores: what runs there takes part of them. Whole cores are `--cpus core:LIST`.\n",
        format_cpus(beside)
    )
}

fn means(means: &Means) -> String {
    match means {
        Means::Version1 { new, .. } => format!("a new cpuset, {}", new.display()),
        Means::Version2 { own } => format!("the cpuset of a separate cgroup, {}", own.display()),
        Means::Affinity { why } => format!("the affinity of its threads ({why})"),
    }
}

fn to_json(irqs: &[Irq], process: Option<&Process>, plan: Option<&Plan>, beside: &Cpus) -> serde_json::Value {
    let allowed = process.map(Process::allowed);
    let irqs: Vec<_> = irqs
        .iter()
        .map(|irq| {
            let to = plan.and_then(|plan| plan.moves.iter().find(|planned| planned.irq == irq.number));
            json!({
                "irq": irq.number, "driver": irq.driver, "cpus": format_cpus(&irq.allowed),
                "effective": irq.effective.as_ref().map(format_cpus),
                "intr_per_s": irq.rate(),
                "intr_per_s_on_its_cpus": allowed.as_ref().and_then(|allowed| irq.rate_on(allowed)),
                "would_go_to": to.map(|to| format_cpus(&to.to)),
            })
        })
        .collect();
    let process = process.map(|process| {
        json!({
            "pid": process.pid, "command": process.command, "threads": process.threads.len(),
            "cpus": format_cpus(&process.allowed()), "ran_on": format_cpus(&process.ran_on()), "busy_cpus": process.busy,
        })
    });
    let fence = plan.map(|plan| json!({"cpus": format_cpus(&plan.cpus), "by": means(&plan.means), "shares_cores_with": format_cpus(beside)}));
    json!({"process": process, "irqs": irqs, "fence": fence})
}
