//! Records a run: samples sources on absolute deadlines, measures what that costs, feeds the store,
//! runs a command beside it if asked, and seals the run whatever ends the recording.

mod between;
mod clock;
mod command;
mod error;
mod housekeeping;
mod observed;
mod open_run;
mod plan;
mod recorder;
mod recording;
mod retention;
mod roll;
mod rolling;
mod run_command;
mod sampler;
mod sampling;
mod sources;
mod stage;
mod summary;
#[cfg(test)]
mod tests;
mod time;
mod trigger;
mod wake;

pub use clock::StepWatch;
pub use command::{Contained, let_signals_through};
pub use error::RecordError;
pub use observed::Observed;
pub use plan::{Plan, Reload, Roll};
pub use recorder::{observe, record};
pub use recording::missed;
pub use retention::{KEEP, apply_retention};
pub use roll::{Keep, Thin};
pub use run_command::{Cause, CommandEnd, Hold, pause, run_command};
pub use sampling::Sampling;
pub use sources::{Started, choose, fills, for_host, is_observer, source, sources, started};
pub use stage::{Outcome, Stage, Watch};
pub use summary::Progress;
pub use trigger::{Condition, Fired, Hook, Triggered, Triggers, Who};
