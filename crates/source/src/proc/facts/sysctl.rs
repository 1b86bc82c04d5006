//! Settings of the kernel below /proc/sys.

use super::{Facts, names};
use crate::Root;

/// Where settings are read. Those of every single interface (`net.ipv4.conf.eth0`) are left out but
/// for `all` and `default`.
const FOLDERS: &[&str] = &["kernel", "vm", "fs", "net/core", "net/ipv4", "net/netfilter", "net/unix"];

/// Counters, random numbers, keys and triggers: no settings. A folder's name leaves out all in it.
const NO_SETTINGS: &[&str] = &[
    "kernel/random",
    "kernel/ns_last_pid",
    "kernel/pty/nr",
    "kernel/sched_domain",
    "kernel/version",
    "kernel/osrelease",
    "kernel/ostype",
    "kernel/hostname",
    "kernel/keys",
    "kernel/firmware_config",
    "kernel/spl",
    "vm/compact_memory",
    "vm/drop_caches",
    "vm/stat_refresh",
    "fs/aio-nr",
    "fs/dentry-state",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/inode-state",
    "fs/quota",
    "fs/binfmt_misc",
    "net/ipv4/tcp_fastopen_key",
    "net/ipv4/route/flush",
    "net/netfilter/nf_conntrack_count",
];

/// Every setting that can be read, under its dotted name.
pub fn sysctl(root: &Root, facts: &mut Facts) {
    for folder in FOLDERS {
        walk(root, folder, 0, facts);
    }
}

fn walk(root: &Root, folder: &str, depth: u32, facts: &mut Facts) {
    for name in names(root, &format!("/proc/sys/{folder}")) {
        let path = format!("{folder}/{name}");
        if NO_SETTINGS.contains(&path.as_str()) || is_one_interface(folder, &name) {
            continue;
        }
        let absolute = format!("/proc/sys/{path}");
        if root.is_dir(&absolute) {
            // Deeper than this there is nothing today; a loop of links in a saved copy ends here.
            if depth < 4 {
                walk(root, &path, depth + 1, facts);
            }
        } else if let Some(value) = root.read_text(&absolute) {
            let value = value.split('\t').collect::<Vec<_>>().join(" ");
            facts.add("sysctl", path.replace('/', "."), value);
        }
    }
}

fn is_one_interface(folder: &str, name: &str) -> bool {
    matches!(folder, "net/ipv4/conf" | "net/ipv4/neigh") && !matches!(name, "all" | "default")
}
