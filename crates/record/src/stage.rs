//! Progress of a recording, and how it ended.

use std::ops::ControlFlow;

use fenxi_model::{Micros, Rows, RunId};

use crate::{summary::Progress, trigger::Triggered};

/// Progress of a recording, for the caller.
#[derive(Clone, Debug)]
pub enum Stage<'a> {
    /// The recording began.
    Began {
        /// The id of the run, if one is kept.
        run: Option<&'a RunId>,
        /// Facts, and notes on sources that could not start.
        rows: &'a Rows,
    },
    /// Averages since the system's boot, at the moment when the recording began.
    SinceBoot {
        /// The moment.
        t: Micros,
        /// Seconds since boot.
        dt: f64,
        /// The rows sampled.
        rows: &'a Rows,
    },
    /// A tick was taken.
    Tick {
        /// How far the recording is.
        progress: &'a Progress,
        /// The end of the interval.
        t: Micros,
        /// Seconds since the tick before.
        dt: f64,
        /// The rows sampled.
        rows: &'a Rows,
    },
    /// The run gave way to the next; sampling goes on.
    Rolled {
        /// The id of the new run, if one is kept.
        run: Option<&'a RunId>,
        /// Facts at its begin, and notes.
        rows: &'a Rows,
    },
    /// Sampling has ended; the run is being written.
    Sealing,
}

/// Callback for each stage of a recording; `Break` stops it.
pub type Watch<'a> = dyn FnMut(Stage<'_>) -> ControlFlow<()> + 'a;

/// Outcome of a recording.
#[derive(Debug)]
pub struct Outcome {
    /// The sealed run, of several the last; None when nothing was to be kept.
    pub run: Option<RunId>,
    /// How many runs there are, one after another.
    pub runs: u64,
    /// Exit status of the command, as a shell gives it.
    pub exit_code: Option<i32>,
    /// Signal that ended the recording early.
    pub interrupted: Option<i32>,
    /// True if the command still ran when the planned time was over, and was ended.
    pub out_of_time: bool,
    /// Ticks taken and missed, and the last summary.
    pub progress: Progress,
    /// CPU seconds the recorder used, all included.
    pub cpu_s: f64,
    /// Outcome of each trigger.
    pub triggered: Vec<Triggered>,
}
