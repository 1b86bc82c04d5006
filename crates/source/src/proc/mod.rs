//! Collectors: sources that read /proc and /sys, one file each.

mod grid;
mod keyed;
mod roster;

use fenxi_procfs::scan;

/// `gpu` where it was not asked for.
pub use self::gpu::IF_THERE as GPU_IF_THERE;
/// `thread_wait` beside the source `thread`.
pub use self::thread_wait::BESIDE_THREADS;

/// Declares the collectors: a module each, and its place in [`SOURCES`].
macro_rules! sources {
    ($($name:ident),* $(,)?) => {
        $(pub(crate) mod $name;)*

        /// Every source that can be recorded, in the order in which they are sampled.
        pub static SOURCES: &[&dyn crate::Source] = &[$(&$name::SOURCE),*];
    };
}

sources! {
    cpu,
    cpu_time,
    cpu_idle,
    sched,
    pressure,
    mem,
    vm,
    page_cache,
    irq,
    softirq,
    tcp,
    tcp_bytes,
    udp,
    netns,
    disk,
    fs,
    media,
    net,
    softnet,
    net_driver,
    gpu,
    process,
    thread,
    thread_wait,
    cgroup,
    log,
    packages,
    binary,
    facts,
}
