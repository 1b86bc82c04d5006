//! The statistics of runs. Everything here is a pure function of numbers: no file, no clock, and the
//! same result every time, as random resampling begins from a fixed seed.
//!
//! The run is the unit of replication. Samples within a run depend on each other, so that a run
//! enters a comparison as one number per metric, and n is the number of runs.

mod adjust;
mod batch;
mod best;
mod block;
mod bursts;
mod change;
mod diff;
mod energy;
mod explain;
mod gate;
mod group;
mod interaction;
mod interval;
mod knee;
mod medoid;
mod modes;
mod outlier;
mod paired;
mod per;
mod permutation;
mod power;
mod range_shift;
mod rank;
mod sample;
mod scaling;
mod scaling_runs;
mod shift;
mod steady;
mod stripe;
mod verdict;

pub use adjust::benjamini_hochberg;
pub use batch::{FEWEST_BATCHES, between_batches};
pub use best::{Best, best};
pub use block::without_blocks;
pub use bursts::{Bursts, bursts};
pub use change::{Centre, Change, Compared, compare};
pub use diff::{DiffLine, Op, diff, same_text};
pub use energy::change_points;
pub use explain::{
    AT_WORK, KINDS, Kind, Measured, Part, PartChange, Quota, RESIDUAL, Source, Split, Transactions, db_time, explain,
    kind_name, of_class, waits, whole,
};
pub use fenxi_model::Random;
pub use gate::{Reason, gate};
pub use group::{Caveat, Comparison, FactDifference, Line, Metric, Outcome, RunSummary, compare_groups};
pub use interaction::{Interaction, interaction};
pub use interval::{Interval, bootstrap};
pub use knee::{Knee, latency_knee};
pub use medoid::{Distances, representative};
pub use modes::{Modes, two_modes};
pub use outlier::{Outlier, outliers};
pub use paired::{mean_interval, paired_ratio};
pub use per::per_transaction;
pub use permutation::{least_p, permutation_test, pooled_test};
pub use power::{Seen, could_have_seen};
pub use range_shift::{RangeShift, range_shift};
pub use rank::cliffs_delta;
pub use sample::{mean, median, quantile, standard_deviation};
pub use scaling::{Scaling, amdahl, usl};
pub use scaling_runs::{Law, ScalingOfRuns, scaling_of_runs};
pub use steady::{Steady, dependence, effective_size, steady_from};
pub use stripe::{BestSizes, Choice, Disk, Layout, Limit, Point, Requests, Storage, Unit, best_sizes, touched};
pub use verdict::{Settings, Verdict, judge};
