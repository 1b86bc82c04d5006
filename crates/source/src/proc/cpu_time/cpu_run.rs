//! CPU time measured by an observer, since /proc does not have it.

use fenxi_model::Rows;

use crate::{SourceError, Tick};

/// CPU time of tasks on one CPU, in nanoseconds since an arbitrary start.
#[derive(Clone, Copy, Debug)]
pub struct CpuRun {
    /// Time that tasks had it.
    pub run_ns: u64,
    /// Length of all ticks of the timer that found a task there; None when that is not known.
    pub tick_ns: Option<u64>,
}

/// Measures what CPUs run.
pub trait Measure: Send {
    /// The value of the column `run_by`.
    fn name(&self) -> &'static str;

    /// Puts what CPU 0, 1, ... ran so far into `cpus`, which is empty; None where that is not known.
    ///
    /// # Errors
    /// When nothing could be read.
    fn read(&mut self, tick: Tick, rows: &mut Rows, cpus: &mut Vec<Option<CpuRun>>) -> Result<(), SourceError>;
}
