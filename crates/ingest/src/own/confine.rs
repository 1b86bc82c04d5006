//! Privileges that the child, a store's program, drops before it runs: rights, network, writing, terminal, most memory.
//!
//! All that takes memory is made ready in the parent; the child makes system calls only. Landlock holds files, TCP and signals
//! where the kernel knows it; seccomp holds what changes files, processes or the machine everywhere; limits hold each process.

#![allow(unsafe_code, reason = "what is done between fork and exec has no safe interface")]

use std::{io, os::unix::process::CommandExt, process::Command};

use super::{
    Limits,
    refused::{self, LandlockScope},
};
use fenxi_procfs::Root;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::{
    process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit, setsid},
    thread::{CapabilitySet, CapabilitySets, set_capabilities},
};

/// Rights of Landlock that are asked for; older kernels give those that they know.
const LATEST: ABI = ABI::V6;

/// Lets the program of `command` run with what `limits` leave it.
///
/// # Errors
/// When the kernel does not take the filters.
pub(super) fn confine(command: &mut Command, limits: &Limits, held: LandlockScope) -> io::Result<()> {
    let mut files = if held.files { Some(files().map_err(io::Error::other)?) } else { None };
    let filters = refused::filters(held).map_err(io::Error::other)?;
    let resources = resources(limits);
    let act = move || {
        // A new session has no terminal, and gets no Ctrl-C meant for us: we end it.
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        for (resource, limit) in &resources {
            setrlimit(*resource, *limit)?;
        }
        let none = CapabilitySet::empty();
        // Without rights of root there are none to give up.
        let _ = set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none });
        if let Some(files) = files.take() {
            files.restrict_self().map_err(|_| io::Error::from_raw_os_error(libc::EPERM))?;
        }
        for filter in &filters {
            seccompiler::apply_filter(filter).map_err(|_| io::Error::from_raw_os_error(libc::EPERM))?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls on what was made ready before, and frees a descriptor.
    unsafe { command.pre_exec(act) };
    Ok(())
}

/// Reading and running files anywhere, and nothing else.
fn files() -> Result<RulesetCreated, LandlockError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LATEST))?
        .handle_access(AccessNet::from_all(LATEST))?
        .scope(Scope::from_all(LATEST))?
        .create()?;
    let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let nowhere = PathBeneath::new(PathFd::new("/dev/null")?, AccessFs::ReadFile | AccessFs::WriteFile);
    Ok(rules.add_rule(PathBeneath::new(PathFd::new("/")?, reading))?.add_rule(nowhere)?)
}

/// Why Landlock does not take the rules.
#[derive(Debug, thiserror::Error)]
enum LandlockError {
    #[error("Landlock: {0}")]
    Rules(#[from] landlock::RulesetError),
    #[error("Landlock: {0}")]
    Path(#[from] landlock::PathFdError),
}

fn resources(limits: &Limits) -> Vec<(Resource, Rlimit)> {
    let most = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
    let mut all = vec![
        (Resource::Cpu, most(limits.cpu.as_secs().max(1))),
        (Resource::As, most(limits.address_bytes)),
        (Resource::Fsize, most(0)),
        (Resource::Core, most(0)),
        (Resource::Nofile, most(256)),
    ];
    // It counts all threads of the user, so that those there are must be left: the system's are more than that.
    let threads = Root::live()
        .read_text("/proc/loadavg")
        .and_then(|text| text.split_whitespace().nth(3)?.split_once('/')?.1.parse::<u64>().ok());
    if let Some(threads) = threads {
        all.push((Resource::Nproc, most(threads + limits.processes as u64)));
    }
    // A limit can only be lowered.
    for (resource, limit) in &mut all {
        let hard = rustix::process::getrlimit(*resource).maximum;
        let smallest = hard.map_or(limit.maximum, |hard| limit.maximum.map(|own| own.min(hard)));
        *limit = Rlimit { current: smallest, maximum: smallest };
    }
    all
}
