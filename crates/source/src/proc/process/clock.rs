//! The CPU clock of a process: nanoseconds that all its threads used, ended ones included, by one
//! system call and without opening a file.
//!
//! The kernel lets anybody read the clock of any process. A thread that runs at this moment is known
//! as of its last clock interrupt or switch, so one reading may be late by a tick of the kernel
//! (1 to 10 ms); what it lacks is in the next one.

use crate::Root;

/// Nanoseconds of CPU time that process `pid` has used; None when there is no such process.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    // As clock_getcpuclockid(3) makes it of a pid, without the system call with which it checks.
    let id = (!i32::try_from(pid).ok()?) << 3 | 2;
    fenxi_sys::clock::ns(id)
}

/// The number of the CPU clock of the calling thread, which others of its process can read.
pub fn of_this_thread() -> i32 {
    // As above, of a thread.
    (!rustix::thread::gettid().as_raw_pid()) << 3 | 6
}

/// Returns true if the process ids of `root` are those of this process's system calls.
pub fn usable(root: &Root) -> bool {
    let own = std::process::id();
    // A /proc of another namespace of process ids names other processes.
    let named = root.read_link("/proc/self");
    root.is_live() && named.is_some_and(|p| p.as_os_str() == own.to_string().as_str()) && cpu_ns(own).is_some()
}

#[cfg(test)]
mod tests {
    use super::{cpu_ns, of_this_thread};

    #[test]
    fn the_clock_of_a_thread_is_read_by_others() {
        let its = std::thread::scope(|scope| {
            let clock = of_this_thread();
            scope.spawn(move || fenxi_sys::clock::ns(clock)).join().unwrap()
        });
        assert!(its.is_some_and(|ns| ns > 0));
    }

    #[test]
    fn the_clock_of_a_process_grows_with_its_work_and_ends_with_it() {
        let own = std::process::id();
        let before = cpu_ns(own).unwrap();
        let begun = std::time::Instant::now();
        while cpu_ns(own).unwrap() < before + 2_000_000 {
            assert!(begun.elapsed().as_secs() < 30);
        }
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(cpu_ns(child.id()), None);
    }
}
