//! What the running kernel has.

use fenxi_source::{Root, online_cpus};
use libbpf_rs::btf::{Btf, types::Typedef};

use crate::EbpfError;

/// Which of these typed tracepoints the kernel does not have.
///
/// # Errors
/// When its description of its types cannot be read.
pub(crate) fn missing_tracepoints(names: &[&'static str]) -> Result<Vec<&'static str>, EbpfError> {
    let types =
        Btf::from_vmlinux().map_err(|error| EbpfError::refused("to describe its types (BTF)".to_owned(), &error))?;
    let has = |name: &str| types.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
    Ok(names.iter().copied().filter(|name| !has(name)).collect())
}

/// The CPUs that are online; the first one where the system does not tell.
pub(crate) fn cpus() -> Vec<u32> {
    let online = online_cpus(&Root::live());
    online.map_or_else(|| vec![0], |cpus| cpus.iter().filter_map(|cpu| u32::try_from(*cpu).ok()).collect())
}

/// How many CPUs are online.
pub(crate) fn n_cpus() -> u32 {
    u32::try_from(cpus().len()).unwrap_or(u32::MAX).max(1)
}
