//! CPU clocks: of the calling thread, and by number, for which `rustix` has no names.

use std::mem::MaybeUninit;

/// Nanoseconds that the clock with this number shows; None where there is no such clock.
pub fn ns(id: i32) -> Option<u64> {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the time is written to a variable that outlives the call; one of zeros is valid.
    let (failed, now) = unsafe { (libc::clock_gettime(id, now.as_mut_ptr()), now.assume_init()) };
    if failed != 0 {
        return None;
    }
    u64::try_from(now.tv_sec).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(now.tv_nsec).ok()?)
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    // Every kernel has this clock.
    ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// The number of the CPU clock of process `pid`; None when there is no such process.
pub fn of_process(pid: u32) -> Option<i32> {
    let mut id = 0;
    // SAFETY: the number is written to a variable that outlives the call.
    let failed = unsafe { libc::clock_getcpuclockid(i32::try_from(pid).ok()?, &raw mut id) };
    (failed == 0).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::{ns, of_process};

    #[test]
    fn the_clock_of_this_process_goes_and_that_of_none_does_not_exist() {
        let clock = of_process(std::process::id()).unwrap();
        let begin = ns(clock).unwrap();
        while ns(clock).unwrap() == begin {}
        // No process has a number above 2^22.
        assert_eq!((of_process(u32::MAX), of_process(1 << 25)), (None, None));
        assert_eq!(ns(i32::MAX), None);
    }
}
