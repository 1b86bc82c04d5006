//! Enters another network namespace, as `ip netns exec` does.
//!
//! /proc/net is that of the thread that reads it, but /sys/class/net is that of whoever mounted /sys:
//! so the process gets mounts of its own, with /sys mounted anew.
#![allow(unsafe_code, reason = "mount(2) is not among the enabled wrappers")]

use std::{
    ffi::CStr,
    io,
    path::{Path, PathBuf},
    ptr,
};

use anyhow::{Context, bail};
use nix::{
    libc,
    sched::{CloneFlags, setns, unshare},
};

/// Moves the calling thread, and those that it starts later, into the network namespace `name`: a name
/// of `ip netns`, or the path of a namespace such as `/proc/1234/ns/net`.
///
/// # Errors
/// When there is no such namespace, or the privileges (CAP_SYS_ADMIN) are missing.
pub fn enter(name: &str) -> anyhow::Result<()> {
    let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) };
    let namespace = match fs_err::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !name.contains('/') => {
            bail!(
                "no network namespace `{name}`; `ip netns` lists named ones, and others have paths such as /proc/PID/ns/net"
            )
        }
        Err(error) => return Err(error.into()),
    };
    let entered = || format!("cannot enter the network namespace {} (this needs root)", path.display());
    setns(&namespace, CloneFlags::CLONE_NEWNET).with_context(entered)?;
    unshare(CloneFlags::CLONE_NEWNS).with_context(entered)?;
    // What is mounted here is not seen outside.
    mount(c"none", c"/", ptr::null(), libc::MS_REC | libc::MS_SLAVE).with_context(entered)?;
    let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(c"sysfs", c"/sys", c"sysfs".as_ptr(), flags).context("cannot mount /sys of the other network namespace")
}

fn mount(source: &CStr, target: &CStr, kind: *const libc::c_char, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: all strings end in NUL and live longer than the call; no data is passed.
    let done = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, ptr::null()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
