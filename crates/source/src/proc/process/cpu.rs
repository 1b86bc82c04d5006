//! CPU time of a process as exactly as the kernel knows it.
//!
//! `stat` counts the whole process, ended threads included, but in ticks of 10 ms and cut off, usr
//! and sys each: over an interval the two together are less than two ticks wrong. `schedstat` counts
//! nanoseconds, but one thread only, and a thread that ended within the interval is gone with what it
//! used. So the threads' nanoseconds are added up, and believed when they agree with the ticks to
//! within those two; otherwise some of it is missing, and the ticks are taken.

/// CPU time from the `ticks` of the process and the nanoseconds of its threads, where known.
pub fn exact_ns(ticks: u64, threads_ns: Option<u64>, tick_ns: u64) -> u64 {
    let by_ticks = ticks * tick_ns;
    threads_ns.filter(|ns| ns.abs_diff(by_ticks) < 2 * tick_ns).unwrap_or(by_ticks)
}

#[cfg(test)]
mod tests {
    use super::exact_ns;

    const TICK: u64 = 10_000_000;

    #[test]
    fn nanoseconds_refine_the_ticks() {
        assert_eq!(exact_ns(0, Some(3_456_789), TICK), 3_456_789);
        assert_eq!(exact_ns(3, Some(34_000_001), TICK), 34_000_001);
        // usr and sys may each have been cut off by almost a tick.
        assert_eq!(exact_ns(1, Some(29_999_999), TICK), 29_999_999);
    }

    #[test]
    fn when_threads_ended_with_what_they_used_the_ticks_are_taken() {
        assert_eq!(exact_ns(50, Some(2_000_000), TICK), 500_000_000);
        assert_eq!(exact_ns(50, None, TICK), 500_000_000);
    }
}
