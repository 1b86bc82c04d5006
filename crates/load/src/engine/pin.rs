//! Threads bound to processors, so that a driver beside its server leaves it the others.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Reads a list of processors: `0-1,3`.
///
/// # Errors
/// When it is none.
pub fn parse(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("`{text}` is no list of processors, as 0-1,3");
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n < CpuSet::MAX_CPU).ok_or_else(wrong);
    let mut all = Vec::new();
    for piece in text.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last) = (number(first)?, number(last)?);
        if last < first {
            return Err(wrong());
        }
        all.extend(first..=last);
    }
    Ok(all)
}

/// Whether this process may use them.
pub(super) fn check(processors: &[usize]) -> Result<(), String> {
    let Ok(allowed) = sched_getaffinity(None) else { return Ok(()) };
    match processors.iter().find(|n| **n >= CpuSet::MAX_CPU || !allowed.is_set(**n)) {
        None => Ok(()),
        Some(other) => {
            let own: Vec<_> = (0..CpuSet::MAX_CPU).filter(|n| allowed.is_set(*n)).map(|n| n.to_string()).collect();
            Err(format!("processor {other} is none that this process may use; there are {}", own.join(",")))
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
    fn lists_of_processors_are_read() {
        assert_eq!(parse("0-2,5"), Ok(vec![0, 1, 2, 5]));
        for wrong in ["", "x", "2-1", "0,", "99999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

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
        assert!(check(&[CpuSet::MAX_CPU - 1]).unwrap_err().contains("there are"));
    }
}
