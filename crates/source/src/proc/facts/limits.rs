//! Resource limits of this process and its children.

use super::{Facts, names};
use crate::{Root, proc::fs::parse_mounts};

/// The control groups of this process and their limits, version 1 and 2.
pub fn cgroup(root: &Root, facts: &mut Facts) {
    let mounts = root.read_text("/proc/self/mounts").unwrap_or_default();
    let mounts = parse_mounts(mounts.as_bytes());
    for line in root.read_text("/proc/self/cgroup").unwrap_or_default().lines() {
        // number:controllers:path; version 2 has the number 0 and no controllers.
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let name = if controllers.is_empty() { "version 2" } else { controllers };
        facts.add("cgroup", name, path);
        let mount = mounts.iter().find(|m| match controllers.split(',').next() {
            None | Some("") => m.fstype == "cgroup2",
            Some(first) => m.fstype == "cgroup" && m.options.split(',').any(|o| o == first),
        });
        let Some(mount) = mount else { continue };
        limits(root, &format!("{}/{}", mount.mount, path.trim_start_matches('/')), facts);
    }
}

/// The limits set on one group.
fn limits(root: &Root, folder: &str, facts: &mut Facts) {
    const LIMITS: &[&str] = &[
        "cpu.max",
        "cpu.weight",
        "cpuset.cpus.effective",
        "cpuset.mems.effective",
        "memory.max",
        "memory.high",
        "memory.swap.max",
        "io.max",
        "pids.max",
        "cpu.cfs_quota_us",
        "cpu.cfs_period_us",
        "cpu.shares",
        "cpuset.cpus",
        "cpuset.mems",
        "memory.limit_in_bytes",
        "memory.soft_limit_in_bytes",
    ];
    let there = names(root, folder);
    for file in LIMITS.iter().filter(|f| there.iter().any(|t| t == **f)) {
        facts.add_file(root, "cgroup", *file, &format!("{folder}/{file}"));
    }
}

/// Resource limits: `soft hard unit`.
pub fn ulimit(root: &Root, facts: &mut Facts) {
    for line in root.read_text("/proc/self/limits").unwrap_or_default().lines().skip(1) {
        // Columns of fixed width: name 26, soft 21, hard 21, unit.
        let (Some(name), Some(rest)) = (line.get(..26), line.get(26..)) else { continue };
        let name = name.trim().trim_start_matches("Max ");
        facts.add("ulimit", name, rest.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}
