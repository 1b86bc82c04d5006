//! Perf events that trigger BPF programs by timer.

use std::os::fd::OwnedFd;

use crate::{EbpfError, privileges};

/// An event that comes every `period_ns` on `cpu`, whoever runs there.
///
/// # Errors
/// When the kernel refuses it.
pub(crate) fn clock(cpu: u32, period_ns: u64) -> Result<OwnedFd, EbpfError> {
    fenxi_source::perf::clock(cpu as usize, period_ns).map_err(|error| EbpfError::Refused {
        what: format!("sampling on CPU {cpu}"),
        why: if error.raw_os_error() == Some(libc::EACCES) || error.raw_os_error() == Some(libc::EPERM) {
            privileges::why_refused()
        } else {
            error.to_string()
        },
    })
}
