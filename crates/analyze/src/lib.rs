//! The statistics of runs. Everything here is a pure function of numbers: no file, no clock, and the
//! same result every time, as random resampling begins from a fixed seed.
//!
//! The run is the unit of replication. Samples within a run depend on each other, so that a run
//! enters a comparison as one number per metric, and n is the number of runs.

mod adjust;
mod change;
mod energy;
mod explain;
mod gate;
mod group;
mod interval;
mod medoid;
mod per;
mod permutation;
mod random;
mod rank;
mod sample;
mod scaling;
mod steady;
mod verdict;

pub use adjust::benjamini_hochberg;
pub use change::{Change, Compared, compare};
pub use energy::change_points;
pub use explain::{Part, Split, explain};
pub use gate::{Reason, gate};
pub use group::{Comparison, FactDifference, Line, Metric, Outcome, RunSummary, compare_groups};
pub use interval::{Interval, bootstrap};
pub use medoid::{Distances, representative};
pub use per::per_transaction;
pub use permutation::{least_p, permutation_test, pooled_test};
pub use random::Random;
pub use rank::cliffs_delta;
pub use sample::{mean, median, quantile, standard_deviation};
pub use scaling::{Scaling, amdahl, usl};
pub use steady::{Steady, effective_size, steady_from};
pub use verdict::{Settings, Verdict, judge};
