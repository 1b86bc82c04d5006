//! Overhead of the BPF programs: run count, run time, and executions that the kernel skipped.
//!
//! The kernel measures run times for all programs of the machine while somebody wants it, for two readings of the clock
//! a run. It is therefore wanted in one interval of [`EVERY`] only: the first and from then on every tenth. Executions
//! that it skipped it counts always.

use std::{
    mem,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

use libbpf_rs::Object;
use libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats, bpf_obj_get_info_by_fd, bpf_prog_info};

/// Intervals from one that is measured to the next.
const EVERY: u64 = 10;

/// Runs and run time of one program in an interval, or since it was loaded.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    /// Its name.
    pub program: String,
    /// Times that it ran while that was measured.
    pub runs: u64,
    /// Time it ran while that was measured.
    pub ns: u64,
    /// Times that the kernel did not run it, as it ran already on that CPU.
    pub skipped: u64,
}

/// The costs of the programs of an object.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    turn: u64,
    /// Open while the kernel measures.
    measuring: Option<OwnedFd>,
    before: Vec<Cost>,
}

impl Costs {
    /// Called at each tick: what the programs did in the interval that ends now, and whether runs and run times were
    /// measured in it.
    pub(crate) fn take(&mut self, object: &Object) -> (Vec<Cost>, bool) {
        let measured = self.measuring.take().is_some();
        let now = read(object);
        if self.turn.is_multiple_of(EVERY) {
            self.measuring = measure();
        }
        self.turn += 1;
        let before = mem::replace(&mut self.before, now);
        let in_it = |(now, then): (&Cost, Cost)| Cost {
            program: then.program,
            runs: now.runs.saturating_sub(then.runs),
            ns: now.ns.saturating_sub(then.ns),
            skipped: now.skipped.saturating_sub(then.skipped),
        };
        (self.before.iter().zip(before).map(in_it).collect(), measured)
    }
}

#[allow(unsafe_code, reason = "libbpf-rs has no call for this")]
fn measure() -> Option<OwnedFd> {
    // SAFETY: it takes a number and returns a descriptor of ours or a negative number.
    let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
    // SAFETY: as above; it has no other owner.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn read(object: &Object) -> Vec<Cost> {
    let programs = object.progs().filter(|program| program.autoload());
    programs
        .filter_map(|program| {
            let info = info(program.as_fd().as_raw_fd())?;
            let program = program.name().to_string_lossy().into_owned();
            Some(Cost { program, runs: info.run_cnt, ns: info.run_time_ns, skipped: info.recursion_misses })
        })
        .collect()
}

#[allow(
    unsafe_code,
    reason = "libbpf-rs asks for everything there is about a program, of which these are three numbers"
)]
fn info(program: i32) -> Option<bpf_prog_info> {
    let mut info = bpf_prog_info::default();
    let mut size = u32::try_from(size_of::<bpf_prog_info>()).ok()?;
    // SAFETY: `info` is a struct of that size, which the kernel fills as far as it knows it.
    let failed = unsafe { bpf_obj_get_info_by_fd(program, (&raw mut info).cast(), &raw mut size) };
    (failed == 0).then_some(info)
}
