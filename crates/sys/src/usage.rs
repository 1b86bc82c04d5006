//! CPU times by getrusage(2), which `rustix` lacks.

use std::{io, mem::MaybeUninit, time::Duration};

/// Whose times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This process's.
    Own,
    /// Those of its children that have ended and were awaited, and of their descendants.
    Children,
}

/// CPU time in user code and in the kernel, to a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user code.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// CPU times so far.
///
/// # Errors
/// When the kernel refuses.
pub fn cpu_times(whose: Whose) -> io::Result<CpuTimes> {
    let whose = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the usage is written to a variable that outlives the call; one of zeros is valid.
    let (failed, usage) = unsafe { (libc::getrusage(whose, usage.as_mut_ptr()), usage.assume_init()) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_usec).unwrap_or(0) * 1000)
    };
    Ok(CpuTimes { user: time(usage.ru_utime), system: time(usage.ru_stime) })
}

#[cfg(test)]
mod tests {
    use super::{Whose, cpu_times};

    #[test]
    fn the_times_of_this_process_grow_with_its_work() {
        let of = || cpu_times(Whose::Own).map(|times| times.user + times.system).unwrap();
        let begin = of();
        while of() == begin {}
        assert!(cpu_times(Whose::Children).is_ok());
    }
}
