//! `USER_HZ`: the unit of CPU time in /proc.

/// Clock ticks in one second of CPU time in /proc: 100 on every architecture that Linux still supports but Alpha.
/// A constant, so that saved files of another machine are read alike.
pub const USER_HZ: u64 = 100;

/// Nanoseconds of one clock tick (10 ms).
pub const TICK_NS: u64 = 1_000_000_000 / USER_HZ;

#[cfg(test)]
mod tests {
    #[test]
    fn this_kernel_says_the_same() {
        assert_eq!(rustix::param::clock_ticks_per_second(), super::USER_HZ);
    }
}
