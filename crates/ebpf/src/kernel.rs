//! Features of the running kernel.

use fenxi_procfs::{Root, online_cpus};
use libbpf_rs::btf::{
    Btf, ReferencesType,
    types::{Enum, FuncProto, Ptr, Typedef},
};

use rustix::time::{ClockId, clock_gettime};

use crate::EbpfError;

/// Nanoseconds of the clock that programs read (`bpf_ktime_get_ns`).
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Which of these typed tracepoints the kernel does not have.
///
/// # Errors
/// When its description of its types cannot be read.
pub(crate) fn missing_tracepoints(names: &[&'static str]) -> Result<Vec<&'static str>, EbpfError> {
    let types = types()?;
    Ok(names.iter().copied().filter(|name| typed(&types, name).is_none()).collect())
}

/// How many arguments a typed tracepoint has; None: there is none of that name.
///
/// # Errors
/// As [`missing_tracepoints`].
pub(crate) fn arguments(tracepoint: &str) -> Result<Option<usize>, EbpfError> {
    let types = types()?;
    let function = typed(&types, tracepoint)
        .and_then(|typed| Ptr::try_from(typed.referenced_type()).ok())
        .and_then(|pointer| FuncProto::try_from(pointer.referenced_type()).ok());
    // The first one is the kernel's own.
    Ok(function.map(|function| function.len().saturating_sub(1)))
}

/// Names and numbers of the first of these enumerations that the kernel has; none where it has none.
///
/// # Errors
/// As [`missing_tracepoints`].
pub(crate) fn enumerated(names: &[&str]) -> Result<Vec<(String, i64)>, EbpfError> {
    let types = types()?;
    let Some(found) = names.iter().find_map(|name| types.type_by_name::<Enum<'_>>(name)) else { return Ok(Vec::new()) };
    let members = found.iter().filter_map(|member| Some((member.name?.to_string_lossy().into_owned(), member.value)));
    Ok(members.collect())
}

fn types() -> Result<Btf<'static>, EbpfError> {
    Btf::from_vmlinux().map_err(|error| EbpfError::refused("to describe its types (BTF)".to_owned(), &error))
}

fn typed<'a>(types: &'a Btf<'_>, tracepoint: &str) -> Option<Typedef<'a>> {
    types.type_by_name(&format!("btf_trace_{tracepoint}"))
}

/// The CPUs that are online; the first one where the system does not report them.
pub(crate) fn cpus() -> Vec<u32> {
    let online = online_cpus(&Root::live());
    online.map_or_else(|| vec![0], |cpus| cpus.iter().filter_map(|cpu| u32::try_from(*cpu).ok()).collect())
}

/// How many CPUs are online.
pub(crate) fn n_cpus() -> u32 {
    u32::try_from(cpus().len()).unwrap_or(u32::MAX).max(1)
}
