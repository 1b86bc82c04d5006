//! Records a run: samples sources on absolute deadlines, measures what that costs, feeds the store,
//! runs a command beside it if asked, and seals the run whatever ends the recording.

mod clock;
mod command;
mod recorder;
mod sampler;
mod summary;
mod wake;

pub use recorder::{Outcome, Plan, RecordError, Stage, record};
pub use summary::Progress;
