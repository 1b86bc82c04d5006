//! What observers see, as text: one file each.

mod cost;
mod procsystime;
mod profile;

pub use cost::WithCost;
pub use procsystime::{Group, Procsystime, ProcsystimeOptions};
pub use profile::{Profile, ProfileOptions};

/// How often something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After each interval, what was in it.
    EachInterval,
    /// At the end, all of it.
    AtTheEnd,
}
