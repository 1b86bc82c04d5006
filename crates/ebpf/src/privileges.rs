//! Why the kernel may refuse: capabilities of this process, lockdown, a file system that is not mounted.

use fenxi_procfs::{Root, status};
use fs_err as fs;

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Effective capabilities of this process, a bit each.
fn capabilities() -> u64 {
    let status = Root::live().read_text("/proc/self/status").unwrap_or_default();
    status::value(&status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0)
}

/// The capabilities that BPF needs and this process has not.
pub(crate) fn missing_capabilities() -> Vec<&'static str> {
    let held = capabilities();
    let has = |bit: u32| held & (1 << bit) != 0;
    let needed = [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")];
    if has(CAP_SYS_ADMIN) {
        return Vec::new();
    }
    needed.iter().filter(|(bit, _)| !has(*bit)).map(|(_, name)| *name).collect()
}

/// Why the kernel may have refused what needs privileges.
pub(crate) fn why_refused() -> String {
    let missing = missing_capabilities();
    if !missing.is_empty() {
        return format!(
            "this process lacks {}; run it as root, or with these two capabilities (setcap \
             cap_bpf,cap_perfmon,cap_dac_read_search+ep on the program, or capsh)",
            missing.join(" and ")
        );
    }
    match lockdown() {
        Some(mode) => format!("the kernel is locked down ({mode}), which forbids this way of attaching"),
        None => {
            "permission denied, though this process has the capabilities: a security module or a container forbids \
                 it"
            .to_owned()
        }
    }
}

/// The kernel's lockdown, when it is on: `integrity` or `confidentiality`.
fn lockdown() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").ok()?;
    let mode = text.split(['[', ']']).nth(1)?;
    (mode != "none").then(|| mode.to_owned())
}

/// Why tracepoints of system calls cannot be found: tracefs is nowhere to be seen. None: it is there.
pub(crate) fn without_tracefs() -> Option<String> {
    let is_there = TRACEFS.iter().any(|folder| fs::metadata(format!("{folder}/events")).is_ok());
    let mount = || format!("tracefs is not mounted: `mount -t tracefs tracefs {}`, as root, mounts it", TRACEFS[0]);
    (!is_there).then(mount)
}

/// The number of a tracepoint (`syscalls/sys_enter_futex`), from a tracefs of our own that is mounted nowhere; None where the kernel
/// gives none (before Linux 5.2, or without CAP_SYS_ADMIN).
pub(crate) fn number_of(tracepoint: &str) -> Option<u64> {
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    fsconfig_create(&context).ok()?;
    let top = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).ok()?;
    let path = format!("events/{tracepoint}/id");
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::openat(&top, path, flags, rustix::fs::Mode::empty()).ok()?;
    let mut text = [0; 32];
    let n = rustix::io::read(&file, &mut text).ok()?;
    std::str::from_utf8(text.get(..n)?).ok()?.trim().parse().ok()
}

/// Where tracefs is, or was before Linux 4.1.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
