//! Waits of threads, by the function of the kernel in which they wait.

use fenxi_model::words;

use crate::scan::{hex, number, words as split};

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
        /// An answer of a name server.
        NameServer = "name server",
        /// Any of several files.
        Poll = "poll",
        /// A time that it has chosen.
        Sleep = "sleep",
        /// A child to end.
        Child = "child",
        /// A lock of the kernel.
        KernelLock = "kernel lock",
        /// An answer of a file system that a program or another host serves (FUSE, NFS, SMB).
        FileServer = "file server",
        /// Nothing: it is stopped by a signal, by what traces it, or frozen with its group.
        Stopped = "stopped",
        /// Something else.
        Other = "other",
    }
}

/// Beginnings of functions' names, which differ between versions of the kernel in their ends; the first that fits counts.
const FUNCTIONS: &[(&str, Wait)] = &[
    ("futex_", Wait::Lock),
    ("do_futex", Wait::Lock),
    ("do_semtimedop", Wait::Lock),
    ("__do_semtimedop", Wait::Lock),
    ("flock_lock_inode", Wait::FileLock),
    ("posix_lock_inode", Wait::FileLock),
    ("locks_lock_inode", Wait::FileLock),
    ("do_lock_file_wait", Wait::FileLock),
    ("fcntl_setlk", Wait::FileLock),
    ("__break_lease", Wait::FileLock),
    ("blkdev_issue_flush", Wait::Flush),
    ("submit_bio_wait", Wait::Flush),
    ("xfs_log_force", Wait::Flush),
    ("xlog_force", Wait::Flush),
    ("xlog_wait", Wait::Flush),
    ("xlog_grant", Wait::Flush),
    ("jbd2_", Wait::Flush),
    ("__jbd2_", Wait::Flush),
    ("add_transaction_credits", Wait::Flush),
    ("wb_wait_for_completion", Wait::Flush),
    ("inode_sleep_on_writeback", Wait::Flush),
    ("sync_inodes_sb", Wait::Flush),
    ("__sync_dirty_buffer", Wait::Flush),
    ("sync_dirty_buffer", Wait::Flush),
    ("start_this_handle", Wait::Flush),
    ("wait_transaction_locked", Wait::Flush),
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
    ("ext4_read_bh", Wait::Disk),
    ("__bread_gfp", Wait::Disk),
    ("bdev_getblk", Wait::Disk),
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
    ("md_", Wait::Disk),
    ("raid5_", Wait::Disk),
    ("wait_barrier", Wait::Disk),
    ("pipe_", Wait::Pipe),
    ("anon_pipe_", Wait::Pipe),
    ("wait_for_partner", Wait::Pipe),
    ("do_msgrcv", Wait::Pipe),
    ("do_msgsnd", Wait::Pipe),
    ("wq_sleep", Wait::Pipe),
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
    ("inotify_read", Wait::Poll),
    ("fanotify_read", Wait::Poll),
    ("signalfd_", Wait::Poll),
    ("eventfd_read", Wait::Poll),
    ("hrtimer_nanosleep", Wait::Sleep),
    ("do_nanosleep", Wait::Sleep),
    ("common_nsleep", Wait::Sleep),
    ("timerfd_read", Wait::Sleep),
    ("do_wait", Wait::Child),
    ("kernel_wait", Wait::Child),
    ("kernel_clone", Wait::Child),
    ("wait_for_vfork", Wait::Child),
    ("rwsem_", Wait::KernelLock),
    ("__rwsem_", Wait::KernelLock),
    ("down_", Wait::KernelLock),
    ("__down", Wait::KernelLock),
    ("mutex_", Wait::KernelLock),
    ("__mutex_", Wait::KernelLock),
    ("percpu_", Wait::KernelLock),
    ("__percpu_", Wait::KernelLock),
    // The kernel leaves the functions of its locks out and shows their callers: of the map of an address space,
    ("__vm_munmap", Wait::KernelLock),
    ("vm_munmap", Wait::KernelLock),
    ("vm_mmap_pgoff", Wait::KernelLock),
    ("lock_mm_and_find_vma", Wait::KernelLock),
    ("do_mprotect_pkey", Wait::KernelLock),
    ("do_madvise", Wait::KernelLock),
    ("__do_sys_brk", Wait::KernelLock),
    ("__x64_sys_brk", Wait::KernelLock),
    // of a directory,
    ("path_openat", Wait::KernelLock),
    ("open_last_lookups", Wait::KernelLock),
    ("do_unlinkat", Wait::KernelLock),
    ("do_rmdir", Wait::KernelLock),
    ("filename_create", Wait::KernelLock),
    ("lock_rename", Wait::KernelLock),
    ("do_renameat2", Wait::KernelLock),
    ("iterate_dir", Wait::KernelLock),
    ("lookup_slow", Wait::KernelLock),
    ("walk_component", Wait::KernelLock),
    // Who traces, stops or freezes a process holds it here.
    ("ptrace_stop", Wait::Stopped),
    ("ptrace_", Wait::Stopped),
    ("do_signal_stop", Wait::Stopped),
    ("do_jobctl_trap", Wait::Stopped),
    ("get_signal", Wait::Stopped),
    ("do_freezer_trap", Wait::Stopped),
    ("__refrigerator", Wait::Stopped),
    ("request_wait_answer", Wait::FileServer),
    ("fuse_", Wait::FileServer),
    ("__fuse_", Wait::FileServer),
    ("rpc_wait_bit", Wait::FileServer),
    ("rpc_", Wait::FileServer),
    ("nfs_", Wait::FileServer),
    ("nfs4_", Wait::FileServer),
    ("wait_for_response", Wait::FileServer),
    ("cifs_", Wait::FileServer),
    ("smb2_", Wait::FileServer),
    ("ceph_", Wait::FileServer),
    ("v9fs_", Wait::FileServer),
    ("p9_client_rpc", Wait::FileServer),
    ("autofs", Wait::FileServer),
    ("fanotify_", Wait::FileServer),
    // Locks of the kernel on a file.
    ("ext4_buffered_write_iter", Wait::KernelLock),
    ("generic_file_write_iter", Wait::KernelLock),
    ("xfs_ilock", Wait::KernelLock),
    ("btrfs_inode_lock", Wait::KernelLock),
];

impl Wait {
    /// Wait reason of a thread, by its `wchan`, and its `syscall` where the function serves two purposes.
    pub fn of_thread(wchan: &str, syscall: impl FnOnce() -> Option<u64>) -> Wait {
        let wait = Wait::of(wchan);
        let (calls, other): (&[&[libc::c_long]], _) = match wait {
            // A write through the page cache that waits for a page waits until it is written (O_SYNC, O_DSYNC).
            Wait::Disk if ["folio_wait_bit", "wait_on_page_bit"].iter().any(|name| wchan.starts_with(name)) => {
                (&[FLUSHES, WRITES], Wait::Flush)
            }
            Wait::Disk => (&[FLUSHES], Wait::Flush),
            Wait::Receive => (&[SENDS], Wait::Send),
            _ => return wait,
        };
        let call = syscall().and_then(|call| libc::c_long::try_from(call).ok());
        if call.is_some_and(|call| calls.iter().any(|calls| calls.contains(&call))) { other } else { wait }
    }

    /// Returns true if a thread that has nothing to do may wait so, too.
    pub fn may_be_idle(self) -> bool {
        use Wait::{Accept, Child, Lock, Other, Pipe, Poll, Receive, Sleep};
        matches!(self, Lock | Pipe | Receive | Accept | Poll | Sleep | Child | Other)
    }

    /// Returns true if what it waits for may be another process of the same program, that it started: else that one is not counted.
    pub fn may_follow(self) -> bool {
        use Wait::{Child, Lock, Other, Pipe, Poll, Run};
        matches!(self, Run | Lock | Pipe | Poll | Child | Other)
    }

    /// Wait reason of a thread in `function`; the kernel prints `0` for one that does not wait.
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

/// System calls that write to files.
const WRITES: &[libc::c_long] =
    &[libc::SYS_write, libc::SYS_pwrite64, libc::SYS_writev, libc::SYS_pwritev, libc::SYS_pwritev2];

/// System calls that send.
const SENDS: &[libc::c_long] = &[
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendfile,
    libc::SYS_splice,
];

/// A system call in which a thread waits: `7 0x7ffc41 0x1 0x7530 0x0 0x0 0x0 …` in /proc/PID/task/TID/syscall.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its number.
    pub number: libc::c_long,
    /// Its arguments; those that it does not take are whatever the registers hold.
    pub arguments: [u64; 6],
}

impl Call {
    /// Reads the line of a thread; None of one that runs, or waits outside of a system call.
    pub fn parse(text: &[u8]) -> Option<Call> {
        let mut words = split(text.trim_ascii());
        let number = words.next().and_then(number).and_then(|call| libc::c_long::try_from(call).ok())?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = hex(words.next()?)?;
        }
        Some(Call { number, arguments })
    }
}

/// The number of the system call in /proc/PID/task/TID/syscall; None of a thread that runs.
pub fn system_call(text: &[u8]) -> Option<u64> {
    split(text.trim_ascii()).next().and_then(number)
}

/// The address of the mutex for which a thread may wait, by its /proc/PID/task/TID/syscall; None where it waits on a futex in another way,
/// as on conditions, semaphores and barriers.
///
/// A mutex of glibc and its like waits without a timeout (futex(2), `FUTEX_WAIT`) while its word is 2, or has the bit of those that keep
/// their owner; one with priority inheritance waits in the kernel. Conditions of glibc use `FUTEX_WAIT_BITSET`. Those of musl wait while a word of
/// each thread is 2: only several threads at one address wait for a mutex.
pub fn mutex(text: &[u8]) -> Option<u64> {
    let call = Call::parse(text).filter(|call| call.number == libc::SYS_futex)?;
    let [address, operation, value, timeout, ..] = call.arguments;
    let is_taken = value == CONTENDED || value & WAITERS != 0;
    let is_mutex = match i32::try_from(operation).ok()? & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT => is_taken && timeout == 0,
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => true,
        _ => false,
    };
    is_mutex.then_some(address)
}

/// The word of a mutex for which others wait, and the bit of one that keeps its owner.
const CONTENDED: u64 = 2;
const WAITERS: u64 = 0x8000_0000;

#[cfg(test)]
mod tests {
    use super::{Call, Wait, mutex, system_call};

    #[test]
    fn a_call_is_read_with_its_arguments() {
        let call = Call::parse(b"7 0x7ffc41 0x1 0x7530 0x0 0x0 0x0 0x7ffd 0x7f01\n").unwrap();
        assert_eq!((call.number, call.arguments), (7, [0x7f_fc41, 1, 0x7530, 0, 0, 0]));
        assert!(Call::parse(b"running\n").is_none() && Call::parse(b"-1 0x7ffd 0x7f01").is_none());
    }

    #[test]
    fn a_mutex_is_told_from_a_condition() {
        let call = |words: &str| mutex(format!("{} {words} 0x0 0x0 0x7ffd 0x7f01\n", libc::SYS_futex).as_bytes());
        assert_eq!(call("0x7f10 0x80 0x2 0x0"), Some(0x7f10), "pthread_mutex_lock");
        assert_eq!(call("0x7f10 0x0 0x2 0x0"), Some(0x7f10), "of several processes");
        assert_eq!(call("0x7f10 0x80 0x80000010 0x0"), Some(0x7f10), "one that keeps its owner");
        assert_eq!(call("0x7f10 0x86 0x0 0x0"), Some(0x7f10), "with priority inheritance");
        assert_eq!(call("0x7f10 0x189 0x0 0x0"), None, "pthread_cond_wait, sem_wait");
        assert_eq!(call("0x7f10 0x80 0x2 0x7ffc"), None, "with a timeout");
        assert_eq!(call("0x7f10 0x80 0x0 0x0"), None, "a thread of Go without work");
        assert_eq!(call("0x7f10 0x80 0x18 0x0"), None, "a barrier of OpenMP");
        assert_eq!(
            (mutex(b"running\n"), mutex(b"0 0x3 0x0 0x2 0x0 0x0 0x0 0x7ffd 0x7f01\n"), mutex(b"")),
            (None, None, None)
        );
    }

    #[test]
    fn a_system_call_tells_what_a_function_serves() {
        let of = |function, call: i64| {
            let text = format!("{call} 0x3 0x0 0x7ffd 0x0 0x0 0x0 0x7ffc 0x7f01\n");
            Wait::of_thread(function, || system_call(text.as_bytes()))
        };
        assert_eq!(of("folio_wait_bit_common", libc::SYS_fdatasync), Wait::Flush);
        assert_eq!(of("folio_wait_bit_common", libc::SYS_pread64), Wait::Disk);
        assert_eq!(of("folio_wait_bit_common", libc::SYS_pwrite64), Wait::Flush);
        assert_eq!(of("blk_mq_get_tag", libc::SYS_pwrite64), Wait::Disk);
        assert_eq!(of("wait_woken", libc::SYS_sendto), Wait::Send);
        assert_eq!(of("wait_woken", libc::SYS_recvfrom), Wait::Receive);
        assert_eq!((system_call(b"running\n"), system_call(b"")), (None, None));
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
            ("lock_mm_and_find_vma", Wait::KernelLock),
            ("path_openat", Wait::KernelLock),
            ("__sync_dirty_buffer", Wait::Flush),
            ("do_semtimedop", Wait::Lock),
            ("fanotify_read", Wait::Poll),
            ("fanotify_handle_event", Wait::FileServer),
            ("percpu_rwsem_wait", Wait::KernelLock),
            ("0", Wait::Run),
            ("", Wait::Run),
        ] {
            assert_eq!(Wait::of(function), wait, "{function}");
        }
    }
}
