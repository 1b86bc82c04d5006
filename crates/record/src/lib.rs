//! Records a run: samples sources on absolute deadlines, measures what that costs, feeds the store,
//! runs a command beside it if asked, and seals the run whatever ends the recording.

mod attend;
mod between;
mod clock;
mod command;
mod error;
mod keeper;
mod kept;
mod observed;
mod plan;
mod recorder;
mod recording;
mod roll;
mod rolling;
mod sampler;
mod sampling;
mod sources;
mod stage;
mod summary;
mod tend;
#[cfg(test)]
mod tests;
mod time;
mod trigger;
mod wake;

pub use attend::{Attended, Cause, Hold, attend, pause};
pub use clock::StepWatch;
pub use command::{Contained, let_signals_through};
pub use error::RecordError;
pub use observed::Observed;
pub use plan::{Plan, Reload, Roll};
pub use recorder::{observe, record};
pub use recording::missed;
pub use roll::{Keep, Thin};
pub use sampling::Sampling;
pub use sources::{Started, choose, fills, for_host, is_observer, source, sources, started};
pub use stage::{Outcome, Stage, Watch};
pub use summary::Progress;
pub use tend::{KEEP, tend};
pub use trigger::{Condition, Fired, Hook, Triggered, Triggers, Who};
