//! Every source that can be recorded: collectors of /proc and /sys, and observers in the kernel.

use fenxi_source::Source;

/// All of them, in the order in which they are sampled.
pub fn sources() -> impl Iterator<Item = &'static dyn Source> + Clone {
    fenxi_source::SOURCES.iter().chain(fenxi_ebpf::SOURCES).copied()
}
