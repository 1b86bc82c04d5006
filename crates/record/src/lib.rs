//! Records a run: samples sources on absolute deadlines, measures what that costs, feeds the store,
//! runs a command beside it if asked, and seals the run whatever ends the recording.

mod attend;
mod clock;
mod command;
mod keeper;
mod kept;
mod observed;
mod plan;
mod recorder;
mod recording;
mod roll;
mod rolling;
mod sampler;
mod sources;
mod summary;
mod tend;
#[cfg(test)]
mod tests;
mod time;
mod wake;

pub use attend::{Attended, Cause, Hold, attend, pause};
pub use command::Contained;
pub use observed::Observed;
pub use plan::Plan;
pub use recorder::{Outcome, RecordError, Stage, observe, record};
pub use roll::{Keep, Reload, Roll, Thin};
pub use sources::{choose, is_observer, source, sources};
pub use summary::Progress;
pub use tend::{KEEP, tend};
