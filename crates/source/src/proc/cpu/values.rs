//! Places of what is known of each CPU besides how it spent its time.

/// Number of columns.
pub const N: usize = 7;
pub const MINOR_FAULTS: usize = 0;
pub const MAJOR_FAULTS: usize = 1;
pub const SWITCHES: usize = 2;
pub const MIGRATIONS: usize = 3;
pub const INTERRUPTS: usize = 4;
pub const CROSS_CALLS: usize = 5;
/// No rate: that of all CPUs is their mean.
pub const FREQUENCY: usize = 6;

/// The columns of one CPU in an interval.
pub type Values = [Option<f64>; N];
