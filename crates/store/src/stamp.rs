//! Stamp of a file, which shows that it has not changed.

use std::os::unix::fs::MetadataExt;

/// A file may change twice within one step of the kernel's clock: what is as young as this is compared again.
const YOUNG_NS: i128 = 2_000_000_000;

/// Stamp of a file: inode, size and times, which show that it has not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i128,
    pub(crate) ctime_ns: i128,
}

impl Stamp {
    pub(crate) fn from_metadata(meta: &std::fs::Metadata) -> Stamp {
        let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Stamp {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime_ns: ns(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether a later change would show at a time of `now_ns`.
    pub(crate) fn is_settled(&self, now_ns: i128) -> bool {
        now_ns - self.ctime_ns > YOUNG_NS
    }
}

/// The time in nanoseconds since 1970, as the file system has it.
pub(crate) fn now_ns() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
