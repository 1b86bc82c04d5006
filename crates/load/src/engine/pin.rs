//! CPU affinity of driver threads, so that a driver leaves the other CPUs to a server on the same host.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Whether this process may use them.
pub(super) fn check(processors: &[usize]) -> Result<(), String> {
    let Ok(allowed) = sched_getaffinity(None) else { return Ok(()) };
    match processors.iter().find(|n| **n >= CpuSet::MAX_CPU || !allowed.is_set(**n)) {
        None => Ok(()),
        Some(other) => {
            let own: Vec<_> = (0..CpuSet::MAX_CPU).filter(|n| allowed.is_set(*n)).map(|n| n.to_string()).collect();
            Err(format!("CPU {other} is not available to this process; available: {}", own.join(",")))
        }
    }
}

/// Binds this thread to one of them.
pub(super) fn this_thread(processors: &[usize], number: usize) {
    if processors.is_empty() {
        return;
    }
    let mut only = CpuSet::new();
    only.set(processors[number % processors.len()]);
    // That it may be used was checked; one that was switched off since is the machine's affair.
    let _ = sched_setaffinity(None, &only);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_was_bound_and_others_are_refused() {
        let own = (0..CpuSet::MAX_CPU).find(|n| sched_getaffinity(None).unwrap().is_set(*n)).unwrap();
        std::thread::spawn(move || {
            this_thread(&[own], 7);
            let bound = sched_getaffinity(None).unwrap();
            assert!(bound.is_set(own) && bound.count() == 1);
        })
        .join()
        .unwrap();
        assert!(check(&[own]).is_ok());
        assert!(check(&[CpuSet::MAX_CPU - 1]).unwrap_err().contains("available:"));
    }
}
