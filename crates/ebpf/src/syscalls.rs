//! Names and numbers of system calls.

use std::borrow::Cow;

/// The name of system call `number` of this machine's architecture.
pub(crate) fn name(number: u32) -> Cow<'static, str> {
    let known = usize::try_from(number).ok().and_then(syscalls::Sysno::new);
    known.map_or_else(|| format!("syscall {number}").into(), |call| call.name().into())
}

/// The number of the system call of this name; None when this architecture has none.
pub(crate) fn number(name: &str) -> Option<u32> {
    let call: syscalls::Sysno = name.parse().ok()?;
    u32::try_from(call.id()).ok()
}
