//! Shared parts of the views of observers: sums that are shown now and then, groups of rows, distributions. Each
//! observer's own view is in its folder in the crate `ebpf`.

mod distribution;
mod grouping;
mod observed;

pub use distribution::{Buckets, Distribution, Distributions};
pub use grouping::{Column, Grouping, Groups, Row, Sum, Sums, Total, in_unit};
pub use observed::{Observed, Summed, When, WithCost, more, table};
