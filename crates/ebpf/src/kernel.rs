//! What the running kernel has.

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
