//! Live tools in the manner of nicstat, mpstat and their like.
//!
//! A tool is a [`View`]: it is shown one [`Frame`] after another and gives text. Where frames come from
//! is not its business: from sources as they are sampled, or from a run ([`replay`]). The views
//! [`Json`] and [`Csv`] show any tool's rows as they are.

mod columns;
pub mod dbstat;
pub mod memstat;
mod moments;
pub mod mpstat;
pub mod nicstat;
mod plain;
mod pstime;
mod replay;
pub mod top;
pub mod trace;
mod util;

pub use columns::columns;
pub use moments::Moments;
pub use plain::{Csv, Json};
pub use pstime::{Chooses, Order, Pstime, PstimeOptions, Scale};
pub use replay::replay;
pub use util::{Util, UtilOptions};

use fenxi_model::{Micros, Rows};

/// Rows of one sample.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The end of the interval.
    pub t: Micros,
    /// Length of the interval in seconds; of the frame since boot, the time since boot.
    pub dt: f64,
    /// True if the rows are averages since the system's boot.
    pub since_boot: bool,
    /// The rows of that moment.
    pub rows: &'a Rows,
}

/// Shows frames as text.
pub trait View {
    /// Adds the text of `frame` to `out`.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String);

    /// Adds what follows the last frame (sums, a verdict).
    fn end(&mut self, _out: &mut String) {}
}
