//! Changes of the machine at run time: a process is kept on isolated CPUs, and interrupts are routed to other CPUs; network interfaces
//! are set.
//!
//! The only part of Fenxi that changes the machine. [`look`] reads and chooses, and changes nothing; [`apply`] saves how
//! things were before it changes the first of them; [`undo`] restores them from that file, whatever happened meanwhile.

mod apply;
mod error;
mod machine;
mod nic;
mod pick;
mod plan;
mod state;

use std::path::{Path, PathBuf};

use fenxi_procfs::{Processes, Root, online_cpus};

pub use apply::Outcome;
pub use error::Error;
pub use machine::{Cpus, Irq, Means, Process, Thread};
pub use nic::{Change, Nic, Setting, apply_nic, interfaces, nic, undo_nic};
pub use pick::Pick;
pub use plan::{Move, Plan};
use state::State;
pub use state::default_folder;

/// A machine before a fence, and what a fence would change.
#[derive(Clone, Debug)]
pub struct FencePreview {
    /// Every interrupt that a driver handles, by number.
    pub irqs: Vec<Irq>,
    /// The process that would be fenced.
    pub process: Option<Process>,
    /// Planned changes; None without a process.
    pub plan: Option<Plan>,
    /// Threads of the same cores as the plan's CPUs that are not among them: what runs there shares these cores.
    pub beside: Cpus,
}

/// Reads interrupts and the process `pid`, and plans a fence around it on the CPUs `wanted`, or on those that are best.
/// A live machine is watched for `watch_s` seconds first; a saved one has no rates.
///
/// # Errors
/// When the machine cannot be read, there is no such process, or it cannot be fenced on these CPUs.
pub fn look(root: &Root, pid: Option<u32>, wanted: Option<&Pick>, watch_s: f64) -> Result<FencePreview, Error> {
    let online = online_cpus(root).ok_or(Error::NoOnline)?;
    let wanted = wanted.map(|wanted| wanted.cpus(root, &online)).transpose()?;
    let mut irqs = machine::irqs(root)?;
    let mut process = pid.map(|pid| Process::find(root, pid)).transpose()?;
    if root.is_live() {
        machine::watch(root, watch_s, &mut irqs, process.as_mut())?;
    }
    let plan = match &process {
        Some(process) => Some(Plan::make(process, &irqs, &online, wanted.as_ref(), Means::find(root, process.pid))?),
        None => None,
    };
    let beside = plan.as_ref().map_or_else(Cpus::new, |plan| pick::beside(root, &plan.cpus, &online));
    Ok(FencePreview { irqs, process, plan, beside })
}

/// Carries out `plan`: saves how things are in `folder`, then changes them. `report` is given what was changed. When the
/// process cannot be fenced, all is undone at once, and `report` is given what that did.
///
/// # Errors
/// When the process is fenced already, its state cannot be saved, or it cannot be fenced.
pub fn apply(process: &Process, plan: &Plan, folder: &Path, report: &mut dyn FnMut(&Outcome)) -> Result<(), Error> {
    let pid = process.pid;
    let path = state::file(folder, pid);
    if path.exists() {
        return Err(Error::FencedAlready { pid, path });
    }
    let mut state = apply::state(process, plan)?;
    state.write(&path)?;
    match apply::apply(&state) {
        Ok(outcome) => {
            report(&outcome);
            Ok(())
        }
        Err(error) => {
            report(&apply::undo(&mut state));
            apply::settle(&state, &path)?;
            Err(Error::NotFenced { pid, source: Box::new(error) })
        }
    }
}

/// Files of the fences in `folder`, or that of the one around `pid`; the latest first: they are undone in that order.
///
/// # Errors
/// When there is none, or the folder cannot be read.
pub fn fences(folder: &Path, pid: Option<u32>) -> Result<Vec<PathBuf>, Error> {
    let files = match pid {
        Some(pid) => Some(state::file(folder, pid)).filter(|file| file.exists()).into_iter().collect(),
        None => state::files(folder)?,
    };
    if files.is_empty() { Err(Error::NothingToUndo { folder: folder.to_owned(), pid }) } else { Ok(files) }
}

/// Undoes the fence whose saved state is the file `path`, as far as it can be; `report` is given what was restored. Gives
/// whether all was: the file is then removed, else what is left stays in it.
///
/// # Errors
/// When the file is no saved state, or cannot be written.
pub fn undo(path: &Path, report: &mut dyn FnMut(&Outcome)) -> Result<bool, Error> {
    let mut state = State::read(path)?;
    let outcome = apply::undo(&mut state);
    report(&outcome);
    apply::settle(&state, path)?;
    Ok(outcome.failed.is_empty())
}

/// Returns true if irqbalance runs, which may move interrupts back.
pub fn irqbalance_runs() -> bool {
    let processes = Processes::of(&Root::live());
    processes.pids().into_iter().any(|pid| processes.comm(pid).as_deref() == Some("irqbalance"))
}
