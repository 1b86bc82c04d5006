//! The machine that a recording is of.

use fenxi_source::Root;

/// The name of the host at `root`.
pub fn hostname(root: &Root) -> String {
    if root.is_live() {
        return rustix::system::uname().nodename().to_string_lossy().into_owned();
    }
    root.read_text("/proc/sys/kernel/hostname").unwrap_or_else(|| "saved".to_owned())
}
