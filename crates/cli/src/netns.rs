//! Enters another network namespace, as `ip netns exec` does.
//!
//! /proc/net is that of the thread that reads it, but /sys/class/net is that of the process that mounted /sys:
//! so the process gets its own mounts, with /sys mounted anew.
#![allow(unsafe_code, reason = "unshare(2) of descriptors would be unsafe; this is of mounts")]

use std::{
    ffi::CStr,
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe},
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
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).with_context(entered)?;
    // SAFETY: threads go on sharing their descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.with_context(entered)?;
    // Mounts made here are not seen outside.
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM).with_context(entered)?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("sysfs", "/sys", "sysfs", flags, None::<&CStr>).context("cannot mount /sys of the other network namespace")
}
