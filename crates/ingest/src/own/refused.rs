//! The system calls that a program of a store does not get: what changes files, other processes, the machine, or what holds it.
//!
//! Landlock knows nothing of modes, owners, times and attributes of files, of limits and scheduling of other processes, or of
//! shared memory, and what it knows depends on the kernel. So these calls fail everywhere.

use std::collections::BTreeMap;

use landlock::{AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

/// Calls that fail with EPERM whatever their arguments.
pub(super) const REFUSED: &[libc::c_long] = &[
    // Modes, owners, times and attributes of files. Calls since 424 have one number on all machines.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    463, // setxattrat
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    466, // removexattrat
    469, // file_setattr
    // Names and lengths of files, which Landlock holds where the kernel has it.
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    // Locks: one on a file of the store would hold up the commands that use it.
    libc::SYS_flock,
    // Networks, and new sessions.
    libc::SYS_socket,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Priorities and scheduling, also its own ones: they are those of the import.
    libc::SYS_setpriority,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_ioprio_set,
    // Memory and queues that processes share by name.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    467, // open_tree_attr
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    442, // mount_setattr
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_quotactl,
    443, // quotactl_fd
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Calls that look into the kernel or run in it, and keys.
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_acct,
    // Clocks and names of the machine.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Older forms of them, which only some machines have.
#[cfg(target_arch = "x86_64")]
pub(super) const OLD: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_symlink,
    libc::SYS_link,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_unlink,
    libc::SYS_creat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(target_arch = "aarch64")]
pub(super) const OLD: &[libc::c_long] = &[libc::SYS_renameat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const OLD: &[libc::c_long] = &[];

/// Calls that pass in memory, where no filter looks, what decides whether they are refused. ENOSYS: the C library falls back to
/// their older forms.
pub(super) const MISSING: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Calls from this number on, which came after this list, are missing, as are those of x32, whose numbers begin at 2^30.
pub(super) const UNKNOWN: u32 = 470;

/// Flags that a new process may not have: for new namespaces, or as a child of who started the program.
pub(super) const CLONE_REFUSED: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_PARENT,
];

/// Operations on an open file that hold up or signal other processes: locks, leases, notices, and who gets a signal.
pub(super) const FCNTL_REFUSED: &[libc::c_int] = &[
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_SETLEASE,
    libc::F_NOTIFY,
    libc::F_SETOWN,
    15, // F_SETOWN_EX
    10, // F_SETSIG
];

/// Operations on devices and files that are left: the test for a terminal, how much there is to read, and flags of the descriptor.
/// Others change attributes of a file (`chattr`, fs-verity), share blocks, or write to a terminal.
const IOCTL_LEFT: &[u64] = &[
    0x5401,      // TCGETS
    0x540f,      // TIOCGPGRP
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x802c_542a, // TCGETS2
];

/// Instructions of a filter, as linux/filter.h has them.
const LOAD: u16 = 0x20;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Filters to be applied one after another.
pub(super) fn filters(held: LandlockScope) -> Result<[BpfProgram; 3], String> {
    let missing: BTreeMap<i64, _> = MISSING.iter().map(|call| (*call, Vec::new())).collect();
    let refused = refused(held).map_err(|e| e.to_string())?;
    Ok([newer(), filter(missing, libc::ENOSYS)?, filter(refused, libc::EPERM)?])
}

/// Restrictions that Landlock of this kernel enforces, so that a filter need not.
#[derive(Clone, Copy, Debug)]
pub(super) struct LandlockScope {
    /// Files: only `/dev/null` is opened to be written.
    pub(super) files: bool,
    /// Signals to other processes.
    pub(super) signals: bool,
}

impl LandlockScope {
    /// By the kernel that this runs on.
    pub(super) fn here() -> LandlockScope {
        let rules = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        LandlockScope {
            files: rules().handle_access(AccessFs::WriteFile).is_ok_and(|rules| rules.create().is_ok()),
            signals: rules().scope(Scope::Signal).is_ok_and(|rules| rules.create().is_ok()),
        }
    }
}

/// Flags of an opening that is refused: those of them that are looked at, and what they are then.
fn openings(held: LandlockScope) -> Vec<(libc::c_int, libc::c_int)> {
    // Opened for reading and cut at once, which Landlock held only later.
    let cut = (libc::O_ACCMODE | libc::O_TRUNC, libc::O_TRUNC);
    // No filter knows the file's name: without Landlock no file at all is opened to be written, made or cut. The limit of sizes
    // would hold neither what is mapped nor what is a device.
    let writes = [
        (libc::O_ACCMODE, libc::O_WRONLY),
        (libc::O_ACCMODE, libc::O_RDWR),
        (libc::O_ACCMODE, libc::O_ACCMODE),
        (libc::O_CREAT, libc::O_CREAT),
        (libc::O_TRUNC, libc::O_TRUNC),
    ];
    if held.files { vec![cut] } else { writes.to_vec() }
}

/// Makes calls from [`UNKNOWN`] on missing.
fn newer() -> BpfProgram {
    let instruction = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let missing = u32::from(SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    vec![
        // The number of the call comes first in what a filter sees.
        instruction(LOAD, 0, 0),
        instruction(JUMP_IF_AT_LEAST, 1, UNKNOWN),
        instruction(RETURN, 0, SeccompAction::Allow.into()),
        instruction(RETURN, 0, missing),
    ]
}

fn refused(held: LandlockScope) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(OLD).map(|call| (*call, Vec::new())).collect();
    let when = |place, operator, value| SeccompCondition::new(place, SeccompCmpArgLen::Dword, operator, value);
    let bits = |bits: libc::c_int| u64::from(bits.cast_unsigned());
    let any_of = |place, flags: &[libc::c_int], is: fn(u64) -> SeccompCmpOp| {
        let rule = |flag: &libc::c_int| SeccompRule::new(vec![when(place, is(bits(*flag)), bits(*flag))?]);
        flags.iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    rules.insert(libc::SYS_clone, any_of(0, CLONE_REFUSED, SeccompCmpOp::MaskedEq)?);
    rules.insert(libc::SYS_fcntl, any_of(1, FCNTL_REFUSED, |_| SeccompCmpOp::Eq)?);
    let others = IOCTL_LEFT.iter().map(|left| when(1, SeccompCmpOp::Ne, *left)).collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(others)?]);
    // Limits of others; its own can only be lowered.
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![when(0, SeccompCmpOp::Ne, 0)?])?]);
    let opening = |place| {
        let rule = |(mask, are)| SeccompRule::new(vec![when(place, SeccompCmpOp::MaskedEq(bits(mask)), bits(are))?]);
        openings(held).into_iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    rules.insert(libc::SYS_openat, opening(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, opening(1)?);
    // A program ends itself with it, so that it is refused only where nothing else keeps it from ending others.
    if !held.signals {
        rules.insert(libc::SYS_tgkill, Vec::new());
    }
    Ok(rules)
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: libc::c_int) -> Result<BpfProgram, String> {
    let fails = SeccompAction::Errno(errno.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, fails, arch).map_err(|error| error.to_string())?;
    filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())
}
