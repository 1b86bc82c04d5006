//! Files of /proc and /sys, live or saved: one parser for each, which knows nothing of Fenxi's tables.
//!
//! [`Root`] is where they are looked for: the running system, a saved copy, or contents set by hand. [`ProcFile`] keeps
//! one open and reads it again at each sample. A file that several parts of Fenxi read is parsed here and nowhere else;
//! one that a single collector reads stays with that collector.

pub mod cgroup;
pub mod containers;
pub mod cpu_ticks;
pub mod maps;
pub mod mountinfo;
mod processes;
pub mod reading;
mod root;
pub mod scan;
pub mod schedstat;
pub mod servers;
mod shared;
pub mod sockets;
pub mod stat;
pub mod status;
mod ticks;
pub mod wait;

pub use processes::{FileId, Open, Processes, Refused, id, is_cached_kind};
pub use root::{Given, ProcFile, Root, online_cpus};
pub use shared::SharedFile;
pub use ticks::{TICK_NS, USER_HZ};
