//! Perf events that trigger BPF programs by timer.

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
};

use nix::libc;

use crate::{EbpfError, check};

/// `PERF_TYPE_SOFTWARE` of the kernel's interface.
const SOFTWARE: u32 = 1;
/// `PERF_COUNT_SW_CPU_CLOCK`.
const CPU_CLOCK: u64 = 0;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// The first fields of `struct perf_event_attr`, in its first version's size.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// An event that comes every `period_ns` on `cpu`, whoever runs there.
///
/// # Errors
/// When the kernel refuses it.
pub(crate) fn clock(cpu: u32, period_ns: u64) -> Result<OwnedFd, EbpfError> {
    let size = u32::try_from(size_of::<Attributes>()).unwrap_or(64);
    let attributes = Attributes { kind: SOFTWARE, size, config: CPU_CLOCK, period: period_ns, ..zeroed() };
    open(&attributes, cpu).map_err(|error| EbpfError::Refused {
        what: format!("sampling on CPU {cpu}"),
        why: if error.raw_os_error() == Some(libc::EACCES) || error.raw_os_error() == Some(libc::EPERM) {
            check::why_refused()
        } else {
            error.to_string()
        },
    })
}

fn zeroed() -> Attributes {
    Attributes {
        kind: 0,
        size: 0,
        config: 0,
        period: 0,
        sample_type: 0,
        read_format: 0,
        flags: 0,
        wakeup: 0,
        breakpoint: 0,
        config1: 0,
    }
}

#[allow(unsafe_code, reason = "there is no wrapper for this system call")]
fn open(attributes: &Attributes, cpu: u32) -> io::Result<OwnedFd> {
    let any_process: libc::pid_t = -1;
    let cpu = libc::c_int::try_from(cpu).unwrap_or(libc::c_int::MAX);
    let no_group: libc::c_int = -1;
    // SAFETY: the attributes are as large as their `size` says, and live during the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            any_process,
            cpu,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel just gave it to us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
const _: () = assert!(size_of::<Attributes>() == 64, "PERF_ATTR_SIZE_VER0");
