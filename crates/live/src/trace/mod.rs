//! What observers see, as text: one file each, and one line here.

mod distribution;
pub mod iopattern;
mod observed;
pub mod pin;
pub mod plockstat;
pub mod procsystime;
pub mod profile;
pub mod querystat;
pub mod util;

pub use distribution::Buckets;
pub use observed::{Observed, Summed, When, WithCost};
