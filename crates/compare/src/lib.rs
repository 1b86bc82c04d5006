//! Comparison of runs of a store: side by side, trends, the representative run, averages.
//!
//! Everything here reads a store and gives plain structures, which the terminal, the pages and scripts
//! show alike: what they serialise to is what `--json` prints and the API answers. The statistics
//! are in `fenxi_analyze`, which knows no store.

pub mod average;
mod averaging;
mod batches;
mod caveats;
mod diagnosis;
mod diff;
mod error;
mod group;
mod headline;
mod plans;
mod range_change;
mod reason;
mod representative;
mod room;
mod series;
mod settings;
mod side_by_side;
mod split;
mod summaries;
mod summary_line;
mod times;
mod transactions;
mod trend;
mod trends;
mod unknown;
pub mod windows;
mod wording;

pub use averaging::{Averaging, Outliers};
pub use diagnosis::{Answer, Diagnosis, Names, percent};
pub use diff::{DiffLine, FactDiff, Op};
pub use error::CompareError;
pub use group::{Group, Member, group, run_names};
pub use headline::{Headline, Replicates, change};
pub use range_change::{Cause, Change as RangeChange, InRange};
pub use reason::Reason;
pub use representative::{Rank, Representative};
pub use room::Room;
pub use settings::Changed;
pub use side_by_side::{Comparison, Counts, Request, SideBySide, share};
pub use split::{Explained, Part, PartChange, Split};
pub use summaries::{Chosen, summary};
pub use summary_line::{Line, range_words};
pub use times::time_parts;
pub use trend::{LEAST, Level, Point, Trend, TrendRequest};
pub use trends::{LastChange, Series, Trends};
pub use wording::{BetterWord, sign_of};
