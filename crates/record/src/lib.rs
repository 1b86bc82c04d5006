//! Records a run: samples sources on absolute deadlines, measures what that costs, feeds the store,
//! runs a command beside it if asked, and seals the run whatever ends the recording.

mod attend;
mod clock;
mod command;
mod observed;
mod plan;
mod recorder;
mod sampler;
mod sampling;
mod sources;
mod summary;
#[cfg(test)]
mod tests;
mod time;
mod wake;

pub use attend::{Attended, Cause, Hold, attend, pause};
pub use clock::StepWatch;
pub use command::{Contained, let_signals_through};
pub use observed::Observed;
pub use plan::Plan;
pub use recorder::{Outcome, RecordError, Stage, missed, observe, record};
pub use sampling::Sampling;
pub use sources::{choose, for_host, is_observer, source, sources};
pub use summary::Progress;
