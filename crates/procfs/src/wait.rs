//! What a thread waits for, by the function of the kernel in which it does.

use fenxi_model::words;
use nix::libc;

use crate::scan::{number, words as split};

words! {
    /// What a thread waits for.
    Wait {
        /// Nothing: it runs, or waits for a CPU.
        Run = "run",
        /// A lock or condition of user space.
        Lock = "lock",
        /// A lock on a file (flock, fcntl).
        FileLock = "file lock",
        /// A page or block that is read or written.
        Disk = "disk",
        /// Data that must reach stable storage.
        Flush = "flush",
        /// Dirty pages to become fewer: it writes faster than the disk.
        Dirty = "dirty pages",
        /// Memory to be freed.
        Memory = "memory",
        /// The other end of a pipe.
        Pipe = "pipe",
        /// Data from a socket.
        Receive = "receive",
        /// Room in the send buffer of a socket.
        Send = "send",
        /// A connection that somebody opens to it.
        Accept = "accept",
        /// A connection that it opens.
        Connect = "connect",
        /// Any of several files.
        Poll = "poll",
        /// A time that it has chosen.
        Sleep = "sleep",
        /// A child to end.
        Child = "child",
        /// A lock of the kernel.
        KernelLock = "kernel lock",
        /// Something else.
        Other = "other",
    }
}

/// Beginnings of functions' names, which differ between versions of the kernel in their ends; the first that fits counts.
const FUNCTIONS: &[(&str, Wait)] = &[
    ("futex_", Wait::Lock),
    ("do_futex", Wait::Lock),
    ("flock_lock_inode", Wait::FileLock),
    ("posix_lock_inode", Wait::FileLock),
    ("locks_lock_inode", Wait::FileLock),
    ("do_lock_file_wait", Wait::FileLock),
    ("fcntl_setlk", Wait::FileLock),
    ("jbd2_log_wait_commit", Wait::Flush),
    ("jbd2_complete_transaction", Wait::Flush),
    ("blkdev_issue_flush", Wait::Flush),
    ("submit_bio_wait", Wait::Flush),
    ("xfs_log_force", Wait::Flush),
    ("xlog_force", Wait::Flush),
    ("xlog_wait", Wait::Flush),
    ("btrfs_sync_log", Wait::Flush),
    ("btrfs_wait_ordered", Wait::Flush),
    ("folio_wait_writeback", Wait::Flush),
    ("wait_on_page_writeback", Wait::Flush),
    ("__filemap_fdatawait", Wait::Flush),
    ("file_write_and_wait", Wait::Flush),
    ("balance_dirty_pages", Wait::Dirty),
    ("throttle_direct_reclaim", Wait::Memory),
    ("mem_cgroup_", Wait::Memory),
    ("__mem_cgroup_", Wait::Memory),
    ("shrink_", Wait::Memory),
    ("reclaim_throttle", Wait::Memory),
    ("congestion_wait", Wait::Memory),
    ("io_schedule", Wait::Disk),
    ("folio_wait_bit", Wait::Disk),
    ("wait_on_page_bit", Wait::Disk),
    ("__lock_page", Wait::Disk),
    ("__folio_lock", Wait::Disk),
    ("filemap_", Wait::Disk),
    ("wait_on_buffer", Wait::Disk),
    ("__wait_on_buffer", Wait::Disk),
    ("out_of_line_wait_on_bit", Wait::Disk),
    ("blk_mq_get_tag", Wait::Disk),
    ("rq_qos_wait", Wait::Disk),
    ("wbt_wait", Wait::Disk),
    ("blkcg_maybe_throttle", Wait::Disk),
    ("__blkdev_direct_IO", Wait::Disk),
    ("blkdev_direct_IO", Wait::Disk),
    ("__iomap_dio_rw", Wait::Disk),
    ("iomap_dio", Wait::Disk),
    ("read_events", Wait::Disk),
    ("pipe_", Wait::Pipe),
    ("anon_pipe_", Wait::Pipe),
    ("wait_for_partner", Wait::Pipe),
    ("sk_stream_wait_memory", Wait::Send),
    ("sock_alloc_send_pskb", Wait::Send),
    ("sock_wait_for_wmem", Wait::Send),
    ("unix_wait_for_peer", Wait::Send),
    ("inet_csk_accept", Wait::Accept),
    ("inet_csk_wait_for_connect", Wait::Accept),
    ("unix_accept", Wait::Accept),
    ("inet_wait_for_connect", Wait::Connect),
    ("__inet_stream_connect", Wait::Connect),
    ("inet_stream_connect", Wait::Connect),
    ("unix_stream_connect", Wait::Connect),
    ("sk_wait_data", Wait::Receive),
    ("wait_woken", Wait::Receive),
    ("tcp_recvmsg", Wait::Receive),
    ("unix_stream_", Wait::Receive),
    ("__skb_wait_for_more_packets", Wait::Receive),
    ("skb_wait_for_more_packets", Wait::Receive),
    ("__skb_recv", Wait::Receive),
    ("ep_poll", Wait::Poll),
    ("do_epoll_", Wait::Poll),
    ("do_sys_poll", Wait::Poll),
    ("do_poll", Wait::Poll),
    ("do_select", Wait::Poll),
    ("poll_schedule_timeout", Wait::Poll),
    ("io_cqring_wait", Wait::Poll),
    ("hrtimer_nanosleep", Wait::Sleep),
    ("do_nanosleep", Wait::Sleep),
    ("common_nsleep", Wait::Sleep),
    ("do_wait", Wait::Child),
    ("kernel_wait", Wait::Child),
    ("rwsem_", Wait::KernelLock),
    ("__rwsem_", Wait::KernelLock),
    ("down_", Wait::KernelLock),
    ("__down", Wait::KernelLock),
    ("mutex_", Wait::KernelLock),
    ("__mutex_", Wait::KernelLock),
];

impl Wait {
    /// What a thread waits for, by the texts of its `wchan` and `syscall`; the latter is asked for where it tells more.
    pub fn of_thread(wchan: &str, syscall: impl FnOnce() -> bool) -> Wait {
        match Wait::of(wchan) {
            // The function is the same for a page that is read and one that is written: the system call tells.
            Wait::Disk if syscall() => Wait::Flush,
            wait => wait,
        }
    }

    /// Whether a thread that has nothing to do may wait so, too.
    pub fn may_be_idle(self) -> bool {
        use Wait::{Accept, Child, Lock, Other, Pipe, Poll, Receive, Sleep};
        matches!(self, Lock | Pipe | Receive | Accept | Poll | Sleep | Child | Other)
    }

    /// What a thread in `function` waits for; the kernel says `0` of one that waits for nothing.
    pub fn of(function: &str) -> Wait {
        if function.is_empty() || function == "0" {
            return Wait::Run;
        }
        let found = FUNCTIONS.iter().find(|(begin, _)| function.starts_with(begin));
        found.map_or(Wait::Other, |(_, wait)| *wait)
    }
}

/// System calls that end when data is on stable storage.
const FLUSHES: &[libc::c_long] = &[
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_msync,
    libc::SYS_sync_file_range,
];

/// Whether /proc/PID/task/TID/syscall tells of a system call that flushes: its first word is the call's number.
pub fn is_flush(syscall: &[u8]) -> bool {
    let call = split(syscall.trim_ascii()).next().and_then(number);
    call.is_some_and(|call| FLUSHES.iter().any(|flush| u64::try_from(*flush) == Ok(call)))
}

#[cfg(test)]
mod tests {
    use super::{Wait, is_flush};

    #[test]
    fn a_flush_is_told_by_its_system_call() {
        let of = |call: i64| format!("{call} 0x3 0x0 0x7ffd 0x0 0x0 0x0 0x7ffc 0x7f01\n");
        assert!(is_flush(of(nix::libc::SYS_fdatasync).as_bytes()));
        assert!(!is_flush(of(nix::libc::SYS_read).as_bytes()));
        assert!(!is_flush(b"running\n") && !is_flush(b""));
    }

    #[test]
    fn functions_of_several_kernels_are_classed() {
        for (function, wait) in [
            ("futex_wait_queue_me", Wait::Lock),
            ("futex_do_wait", Wait::Lock),
            ("jbd2_log_wait_commit", Wait::Flush),
            ("wait_on_page_writeback", Wait::Flush),
            ("wait_on_page_bit_common", Wait::Disk),
            ("folio_wait_bit_common", Wait::Disk),
            ("anon_pipe_read", Wait::Pipe),
            ("poll_schedule_timeout", Wait::Poll),
            ("do_wait", Wait::Child),
            ("flock_lock_inode_wait", Wait::FileLock),
            ("cv_wait_common", Wait::Other),
            ("0", Wait::Run),
            ("", Wait::Run),
        ] {
            assert_eq!(Wait::of(function), wait, "{function}");
        }
    }
}
