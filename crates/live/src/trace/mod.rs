//! What observers see, as text: one file each.

mod cost;
mod distribution;
mod iopattern;
mod latencies;
mod pin;
mod plockstat;
mod procsystime;
mod profile;
mod querystat;
mod util;

pub use cost::WithCost;
pub use iopattern::{Iopattern, IopatternBy, IopatternOptions};
pub use latencies::Buckets;
pub use pin::{Pin, PinGroup, PinOptions};
pub use plockstat::{Plockstat, PlockstatOptions};
pub use procsystime::{Group, Procsystime, ProcsystimeOptions};
pub use profile::{Profile, ProfileOptions};
pub use querystat::{Querystat, QuerystatOptions};
pub use util::OldNew;

/// How often something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After each interval, what was in it.
    EachInterval,
    /// At the end, all of it.
    AtTheEnd,
}
