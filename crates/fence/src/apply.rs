//! Changing the machine, and changing it back.

use std::{
    io,
    path::{Path, PathBuf},
};

use fenxi_model::{format_cpus, parse_cpus};
use fenxi_procfs::{Processes, Root, cgroup};
use fs_err as fs;
use rustix::{
    io::Errno,
    process::Pid,
    thread::{CpuSet, sched_setaffinity},
};

use crate::{
    Cpus, Error, Means, Plan, Process, machine,
    state::{Group, IrqWas, State, ThreadWas, boot},
};

/// Outcome of changes: a line for each.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Changes that were made.
    pub done: Vec<String>,
    /// Changes that failed, with the reason.
    pub failed: Vec<String>,
}

/// How things are before `plan` is carried out.
pub(crate) fn state(process: &Process, plan: &Plan) -> Result<State, Error> {
    let root = Root::live();
    let group = match &plan.means {
        Means::Version1 { own, new } => Group::New { folder: new.clone(), above: own.clone() },
        Means::Version2 { own } => {
            let was = fs::read_to_string(own.join("cpuset.cpus"))?.trim().to_owned();
            Group::Own { folder: own.clone(), was }
        }
        Means::Affinity { .. } => Group::None,
    };
    let version1 = matches!(plan.means, Means::Version1 { .. });
    let threads = process.threads.iter().map(|thread| ThreadWas {
        tid: thread.tid,
        allowed: thread.allowed.clone(),
        group: if version1 { cgroup::folder_of(&root, thread.tid, "cpuset") } else { None },
    });
    let irqs = plan.moves.iter().map(|planned| IrqWas {
        irq: planned.irq,
        driver: planned.driver.clone(),
        allowed: planned.from.clone(),
        effective: planned.effective.clone(),
        to: planned.to.clone(),
    });
    Ok(State {
        boot: boot(&root),
        pid: process.pid,
        began: process.began,
        command: process.command.clone(),
        cpus: plan.cpus.clone(),
        group,
        threads: threads.collect(),
        irqs: irqs.collect(),
    })
}

/// Keeps the process on its CPUs and routes interrupts to other CPUs. Interrupts that refuse are reported and stay.
///
/// # Errors
/// When the process could not be kept there: nothing else was changed then.
pub(crate) fn apply(state: &State) -> Result<Outcome, Error> {
    let list = format_cpus(&state.cpus);
    match &state.group {
        Group::New { folder, above } => {
            fs::create_dir(folder)?;
            fs::write(folder.join("cpuset.mems"), fs::read_to_string(above.join("cpuset.mems"))?)?;
            fs::write(folder.join("cpuset.cpus"), &list)?;
            fs::write(folder.join("cgroup.procs"), state.pid.to_string())?;
        }
        Group::Own { folder, .. } => fs::write(folder.join("cpuset.cpus"), &list)?,
        Group::None => bind(state.pid, &state.cpus)?,
    }
    check(state)?;
    let mut outcome = Outcome::default();
    outcome.done.push(format!("process {} ({}) is kept on CPUs {list}", state.pid, state.command));
    for irq in &state.irqs {
        match send(irq.irq, &irq.to) {
            Ok(()) => {
                outcome.done.push(format!("irq {} ({}) goes to CPUs {}", irq.irq, irq.driver, format_cpus(&irq.to)))
            }
            Err(error) => outcome.failed.push(format!("irq {} ({}) stays: {}", irq.irq, irq.driver, refused(&error))),
        }
    }
    Ok(outcome)
}

/// Every thread may run on the fence's CPUs and nowhere else.
fn check(state: &State) -> Result<(), Error> {
    let process = Process::find(&Root::live(), state.pid)?;
    if let Some(thread) = process.threads.iter().find(|thread| !thread.allowed.is_subset(&state.cpus)) {
        return Err(Error::Escapes { pid: state.pid, tid: thread.tid, cpus: format_cpus(&thread.allowed) });
    }
    Ok(())
}

/// Binds all threads; those that begin meanwhile too.
fn bind(pid: u32, cpus: &Cpus) -> Result<(), Error> {
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        let threads = Process::find(&Root::live(), pid)?.threads;
        let mut unbound = threads.iter().filter(|thread| thread.allowed != *cpus).peekable();
        if unbound.peek().is_none() {
            return Ok(());
        }
        for thread in unbound {
            match set_affinity(thread.tid, cpus) {
                // It may have ended.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(source) => return Err(Error::Bind { tid: thread.tid, cpus: format_cpus(cpus), source }),
            }
        }
    }
    Err(Error::TooManyThreads(pid))
}

fn set_affinity(tid: u32, cpus: &Cpus) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        // The set has room for so many.
        if *cpu >= CpuSet::MAX_CPU {
            return Err(Errno::INVAL);
        }
        set.set(*cpu);
    }
    let thread = i32::try_from(tid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    sched_setaffinity(Some(thread), &set)
}

fn affinity_file(irq: u32) -> PathBuf {
    PathBuf::from(format!("/proc/irq/{irq}/smp_affinity_list"))
}

/// Sends an interrupt to `cpus`, and makes sure that it goes there.
fn send(irq: u32, cpus: &Cpus) -> io::Result<()> {
    // Not `fs_err`: the error number shows what refused, and the interrupt is named by the caller.
    #[expect(clippy::disallowed_methods, reason = "the bare error is wanted")]
    std::fs::write(affinity_file(irq), format_cpus(cpus))?;
    let now = fs::read_to_string(affinity_file(irq))?;
    if parse_cpus(&now).as_ref() == Some(cpus) {
        return Ok(());
    }
    Err(io::Error::other(format!("the kernel made it {}", now.trim())))
}

fn refused(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EIO | libc::EPERM) => {
            "the kernel manages it itself, or its controller cannot route it to another CPU".to_owned()
        }
        Some(libc::EACCES) => "only root may move interrupts".to_owned(),
        Some(libc::ENOSPC) => "those CPUs have no interrupt vector left".to_owned(),
        _ => error.to_string(),
    }
}

/// Restores what a fence changed, as far as it can; what could not be restored is left in `state`.
pub(crate) fn undo(state: &mut State) -> Outcome {
    let root = Root::live();
    let mut outcome = Outcome::default();
    if state.boot != boot(&root) {
        outcome.done.push(format!("the fence around process {} ended when the machine did", state.pid));
        (state.threads, state.irqs, state.group) = (Vec::new(), Vec::new(), Group::None);
        return outcome;
    }
    state.irqs.retain(|irq| undo_irq(irq, &mut outcome));
    let alive = Processes::of(&root).began(state.pid) == Some(state.began);
    match undo_group(state, alive) {
        Ok(()) => {
            state.group = Group::None;
            undo_threads(state, alive, &mut outcome);
        }
        Err(error) => outcome.failed.push(format!("process {} stays fenced: {error}", state.pid)),
    }
    outcome
}

/// Whether an interrupt could not be restored.
fn undo_irq(irq: &IrqWas, outcome: &mut Outcome) -> bool {
    let name = format!("irq {} ({})", irq.irq, irq.driver);
    let Ok(now) = fs::read_to_string(affinity_file(irq.irq)) else {
        outcome.done.push(format!("{name} is gone"));
        return false;
    };
    let now = parse_cpus(&now);
    if now.as_ref() == Some(&irq.allowed) {
        outcome.done.push(format!("{name} may go to CPUs {} as before", format_cpus(&irq.allowed)));
        return false;
    }
    // An interrupt stays where it is when it may: first sent where it was, it goes there again.
    if let Some(effective) = &irq.effective {
        let _ = send(irq.irq, effective);
    }
    if let Err(error) = send(irq.irq, &irq.allowed) {
        outcome.failed.push(format!("{name} is not restored: {}", refused(&error)));
        return true;
    }
    let changed = if now.as_ref() == Some(&irq.to) { "" } else { "; somebody else had changed it meanwhile" };
    outcome.done.push(format!("{name} may go to CPUs {} again{changed}", format_cpus(&irq.allowed)));
    false
}

fn undo_group(state: &State, alive: bool) -> io::Result<()> {
    match &state.group {
        Group::New { folder, above } => {
            if alive {
                for thread in &state.threads {
                    let group = thread.group.as_deref().unwrap_or(above);
                    // It may have ended.
                    let _ = fs::write(group.join("tasks"), thread.tid.to_string());
                }
            }
            if !folder.exists() {
                return Ok(());
            }
            // Threads and children that began within the fence.
            for pid in machine::members(folder) {
                let _ = fs::write(above.join("cgroup.procs"), pid.to_string());
            }
            fs::remove_dir(folder)
        }
        Group::Own { folder, was } => {
            let file = folder.join("cpuset.cpus");
            // A group that is gone needs no restoring; an empty list is written as an empty line.
            if file.exists() { fs::write(file, format!("{was}\n")) } else { Ok(()) }
        }
        Group::None => Ok(()),
    }
}

/// Gives threads their affinity back: moving to another cpuset sets it, and without one it was the fence.
fn undo_threads(state: &mut State, alive: bool, outcome: &mut Outcome) {
    let what = format!("process {} ({})", state.pid, state.command);
    let was = std::mem::take(&mut state.threads);
    let Some(first) = was.first().map(|thread| thread.allowed.clone()).filter(|_| alive) else {
        outcome.done.push(format!("{what} has ended"));
        return;
    };
    let mut restored = 0;
    for tid in Processes::of(&Root::live()).tids(state.pid) {
        let before = was.iter().find(|thread| thread.tid == tid);
        // A thread that began within the fence is given what the process's first one had.
        match set_affinity(tid, before.map_or(&first, |thread| &thread.allowed)) {
            Ok(()) => restored += 1,
            Err(Errno::SRCH) => {}
            Err(error) => {
                outcome.failed.push(format!("thread {tid} of {what} is not restored: {error}"));
                state.threads.extend(before.cloned());
            }
        }
    }
    let s = if restored == 1 { "" } else { "s" };
    outcome.done.push(format!("{what}: CPU affinity of {restored} thread{s} restored"));
}

/// Removes the file of a fence of which nothing is left, or keeps in it what is.
pub(crate) fn settle(state: &State, path: &Path) -> Result<(), Error> {
    let nothing = state.threads.is_empty() && state.irqs.is_empty() && state.group == Group::None;
    if nothing { Ok(fs::remove_file(path)?) } else { state.write(path) }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A process, ended when dropped.
    struct Sleeping(Child);

    impl Drop for Sleeping {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A made-up group of version 2 that has CPUs `was`, and how things are before a fence around the process on `cpus`.
    fn fence(folder: &Path, was: &str, sleeping: &Sleeping, cpus: &Cpus) -> State {
        fs::write(folder.join("cpuset.cpus"), was).unwrap();
        let process = Process::find(&Root::live(), sleeping.0.id()).unwrap();
        let means = Means::Version2 { own: folder.to_owned() };
        state(&process, &Plan { cpus: cpus.clone(), means, moves: Vec::new() }).unwrap()
    }

    /// Writing to made-up files binds no process, so the process is where the kernel would have put it before.
    #[test]
    fn the_cpus_of_a_group_of_version_2_are_set_and_given_back() {
        let sleeping = Sleeping(Command::new("sleep").arg("600").spawn().unwrap());
        let first = *Process::find(&Root::live(), sleeping.0.id()).unwrap().allowed().first().unwrap();
        let cpus = Cpus::from([first]);
        set_affinity(sleeping.0.id(), &cpus).unwrap();
        for was in ["\n", "0-63\n"] {
            let folder = tempfile::tempdir().unwrap();
            let mut state = fence(folder.path(), was, &sleeping, &cpus);
            assert_eq!(state.group, Group::Own { folder: folder.path().to_owned(), was: was.trim().to_owned() });
            let in_group = || fs::read_to_string(folder.path().join("cpuset.cpus")).unwrap();
            let outcome = apply(&state).unwrap();
            assert_eq!((in_group(), outcome.failed.len()), (first.to_string(), 0));
            let outcome = undo(&mut state);
            assert_eq!((in_group().as_str(), outcome.failed.len()), (was, 0), "{outcome:?}");
            assert_eq!((&state.group, state.threads.len()), (&Group::None, 0), "nothing is left to undo");
        }
    }

    #[test]
    fn a_group_that_does_not_keep_its_process_is_no_fence() {
        let sleeping = Sleeping(Command::new("sleep").arg("600").spawn().unwrap());
        let nowhere = Cpus::from([4095]);
        let folder = tempfile::tempdir().unwrap();
        let state = fence(folder.path(), "\n", &sleeping, &nowhere);
        let error = apply(&state).unwrap_err().to_string();
        assert!(error.contains("may still run on CPUs"), "{error}");
    }
}
