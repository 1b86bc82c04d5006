//! Rights that a session gives up before it runs anything: all but reading some files and spilling into a folder.
//!
//! Landlock confines files (and TCP, signals and abstract sockets where the kernel knows that); seccomp leaves only the
//! system calls that answering needs, which excludes sockets, programs, other processes and all changes of
//! files by name but those that Landlock confines; limits bound memory. Where the kernel has no Landlock, seccomp
//! lets nothing be opened for writing, and the engine's own list of folders alone keeps reading within them.

use std::{
    collections::BTreeMap,
    os::fd::{AsRawFd, RawFd},
    os::unix::net::UnixStream,
};

use fenxi_worker::Setup;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::{
    process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit},
    thread::{CapabilitySet, CapabilitySets, set_capabilities},
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Rights of Landlock that are asked for; older kernels give those that they know.
const LATEST: ABI = ABI::V6;

/// Confinement of a session.
pub(crate) struct Confined {
    /// In words.
    pub by: Vec<String>,
    /// True if the kernel confines writing to the folder for it.
    pub may_spill: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error("Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    #[error("Landlock: {0}")]
    Path(#[from] landlock::PathFdError),
    #[error("seccomp: {0}")]
    Seccomp(#[from] seccompiler::Error),
    #[error("seccomp: {0}")]
    Filter(#[from] seccompiler::BackendError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Errno(#[from] rustix::io::Errno),
}

/// Gives up rights for good; `stream` is the one way to the outside that stays.
pub(crate) fn enter(setup: &Setup, stream: &UnixStream) -> Result<Confined, SandboxError> {
    // It must not outlive its template, which alone can be asked to end it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    close_others(stream.as_raw_fd())?;
    limit(setup)?;
    drop_capabilities();
    let RestrictionStatus { ruleset, landlock, .. } = confine_files(setup)?;
    let may_spill = ruleset != RulesetStatus::NotEnforced;
    seccompiler::apply_filter(&no_clone3()?)?;
    seccompiler::apply_filter(&allowed(may_spill)?)?;
    let landlock = match (ruleset, landlock) {
        (RulesetStatus::NotEnforced, _) => {
            "no Landlock: this kernel has none, so nothing is spilled to disk".to_owned()
        }
        (_, LandlockStatus::Available { effective_abi, kernel_abi }) => {
            let abi = kernel_abi.map_or_else(|| effective_abi.to_string(), |abi| abi.to_string());
            format!("Landlock (ABI {abi})")
        }
        (_, _) => "Landlock".to_owned(),
    };
    Ok(Confined { by: vec![landlock, "seccomp".to_owned(), "RLIMIT_DATA".to_owned()], may_spill })
}

/// Leaves open what `stream` is made of and nothing else; standard streams lead nowhere.
fn close_others(stream: RawFd) -> Result<(), SandboxError> {
    let nowhere = fs_err::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    drop(nowhere);
    let target = |fd: RawFd| fs_err::read_link(format!("/proc/self/fd/{fd}"));
    let ours = target(stream)?;
    let mut open: Vec<RawFd> = Vec::new();
    for entry in fs_err::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_string_lossy().parse::<RawFd>().ok());
    }
    for fd in open.into_iter().filter(|fd| *fd > 2) {
        // The stream is open twice: to read requests and to write answers. The folder that was just listed is
        // among them too, and closed already.
        if target(fd).is_ok_and(|target| target != ours) {
            #[allow(unsafe_code, reason = "the owners of these descriptors are the template's")]
            // SAFETY: nothing of this process uses it: all that it has is the stream.
            unsafe {
                rustix::io::close(fd);
            }
        }
    }
    Ok(())
}

/// Bounds private memory beyond what the template had, and leaves no core files.
fn limit(setup: &Setup) -> Result<(), SandboxError> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    if let Some(bytes) = setup.data_bytes {
        // The sixth number of statm: data and stack, in pages.
        let statm = fs_err::read_to_string("/proc/self/statm")?;
        let pages: u64 = statm.split_whitespace().nth(5).and_then(|n| n.parse().ok()).unwrap_or(0);
        let most = bytes.saturating_add(pages * rustix::param::page_size() as u64);
        let most = getrlimit(Resource::Data).maximum.map_or(most, |hard| hard.min(most));
        setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Keeps of root's rights only that of reading others' files, which the files of a store may be.
fn drop_capabilities() {
    let kept = CapabilitySet::DAC_READ_SEARCH;
    let none = CapabilitySet::empty();
    for sets in [kept, none] {
        if set_capabilities(None, CapabilitySets { effective: sets, permitted: sets, inheritable: none }).is_ok() {
            break;
        }
    }
}

/// Lets the process reach the files of `setup` and no others.
fn confine_files(setup: &Setup) -> Result<RestrictionStatus, SandboxError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let spilling: BitFlags<AccessFs> = reading
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LATEST))?
        .handle_access(AccessNet::from_all(LATEST))?
        .scope(Scope::from_all(LATEST))?
        .create()?;
    let dirs = setup.read_dirs.iter().map(|path| (path, reading));
    let files = setup.read_files.iter().map(|path| (path, AccessFs::ReadFile.into()));
    let spill = setup.spill.iter().map(|path| (path, spilling));
    for (path, rights) in dirs.chain(files).chain(spill) {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, rights))?;
    }
    Ok(ruleset.restrict_self()?)
}

/// `clone3` passes its flags in memory, where no filter sees them: the C library falls back to `clone`.
fn no_clone3() -> Result<BpfProgram, SandboxError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let missing = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, missing, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

/// System calls that need no look at their arguments.
const PLAIN: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_futex,
    libc::SYS_getcpu,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Old forms that only some machines have.
#[cfg(target_arch = "x86_64")]
const OLD: &[libc::c_long] =
    &[libc::SYS_access, libc::SYS_lstat, libc::SYS_poll, libc::SYS_readlink, libc::SYS_stat, libc::SYS_arch_prctl];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[libc::c_long] = &[];

/// System calls that make folders and remove files, where Landlock keeps that within a folder.
const SPILLING: &[libc::c_long] = &[libc::SYS_mkdirat, libc::SYS_unlinkat];
#[cfg(target_arch = "x86_64")]
const OLD_SPILLING: &[libc::c_long] = &[libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const OLD_SPILLING: &[libc::c_long] = &[];

/// Leaves the system calls that answering needs; others fail with EPERM.
fn allowed(may_spill: bool) -> Result<BpfProgram, SandboxError> {
    let spilling = [SPILLING, OLD_SPILLING].concat();
    let spilling = if may_spill { spilling.as_slice() } else { &[] };
    let plain = [PLAIN, OLD, spilling].concat();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = plain.into_iter().map(|call| (call, Vec::new())).collect();
    let only = |place: u8, mask: u64, value: u64| {
        let same = SeccompCmpOp::MaskedEq(mask);
        SeccompRule::new(vec![SeccompCondition::new(place, SeccompCmpArgLen::Qword, same, value)?])
    };
    let flags = |bits: libc::c_int| u64::from(bits.cast_unsigned());
    // Threads, no processes.
    let thread = flags(libc::CLONE_THREAD | libc::CLONE_VM);
    rules.insert(libc::SYS_clone, vec![only(0, thread, thread)?]);
    // Names of threads; nothing that changes what the process may do.
    rules.insert(
        libc::SYS_prctl,
        vec![only(0, u64::MAX, flags(libc::PR_SET_NAME))?, only(0, u64::MAX, flags(libc::PR_SET_VMA))?],
    );
    // Its own limits are read, none is set.
    rules.insert(libc::SYS_prlimit64, vec![only(2, u64::MAX, 0)?]);
    // Signals only to itself: an abort.
    let me = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![only(0, u64::from(u32::MAX), me)?]);
    let writes = flags(libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND);
    let opening = |place: u8| {
        if may_spill { Ok(Vec::new()) } else { only(place, writes, 0).map(|rule| vec![rule]) }
    };
    rules.insert(libc::SYS_openat, opening(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, opening(1)?);
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    Ok(SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

#[cfg(test)]
mod tests;
