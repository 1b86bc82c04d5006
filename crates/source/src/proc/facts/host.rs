//! Kernel, operating system, virtual machine or container, mounts.

use super::Facts;
use crate::{Root, proc::fs::parse_mounts};

/// Kernel, its command line, host name and clock.
pub fn kernel(root: &Root, facts: &mut Facts) {
    for (name, path) in [
        ("release", "/proc/sys/kernel/osrelease"),
        ("version", "/proc/sys/kernel/version"),
        ("type", "/proc/sys/kernel/ostype"),
        ("hostname", "/proc/sys/kernel/hostname"),
        ("command line", "/proc/cmdline"),
        ("clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("clock sources", "/sys/devices/system/clocksource/clocksource0/available_clocksource"),
        ("boot id", "/proc/sys/kernel/random/boot_id"),
    ] {
        facts.add_file(root, "kernel", name, path);
    }
    if root.is_live() {
        facts.add("kernel", "machine", rustix::system::uname().machine().to_string_lossy());
    }
    let modules = root.read_text("/proc/modules").unwrap_or_default();
    let mut names: Vec<&str> = modules.lines().filter_map(|l| l.split(' ').next()).collect();
    names.sort_unstable();
    facts.add("kernel", "modules", names.join(" "));
}

/// The distribution.
pub fn os(root: &Root, facts: &mut Facts) {
    let text = ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|path| root.read_text(path));
    for line in text.unwrap_or_default().lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        if matches!(key, "PRETTY_NAME" | "ID" | "VERSION_ID") {
            facts.add("os", key.to_lowercase().replace('_', " "), value.trim_matches('"'));
        }
    }
}

/// Detects virtualisation: hypervisor and container, as far as they can be seen from inside.
pub fn virtualisation(root: &Root, facts: &mut Facts) {
    const TOPIC: &str = "virtualisation";
    let cpuinfo = root.read_text("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|l| l.starts_with("flags"));
    if let Some(flags) = flags {
        let guest = flags.split(' ').any(|f| f == "hypervisor");
        facts.add(TOPIC, "hypervisor flag", if guest { "yes" } else { "no" });
    }
    for (name, path) in [
        ("hypervisor", "/sys/hypervisor/type"),
        ("system vendor", "/sys/class/dmi/id/sys_vendor"),
        ("product", "/sys/class/dmi/id/product_name"),
        ("board vendor", "/sys/class/dmi/id/board_vendor"),
        ("bios vendor", "/sys/class/dmi/id/bios_vendor"),
        ("bios version", "/sys/class/dmi/id/bios_version"),
        ("container", "/run/systemd/container"),
    ] {
        facts.add_file(root, TOPIC, name, path);
    }
    for (sign, kind) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if root.exists(sign) {
            facts.add(TOPIC, "container", kind);
        }
    }
    let first = root.read_text("/proc/1/cgroup").unwrap_or_default();
    for kind in ["kubepods", "docker", "libpod", "lxc", "containerd", "garden"] {
        if first.contains(kind) {
            facts.add(TOPIC, "container hint", format!("{kind} in /proc/1/cgroup"));
        }
    }
}

/// Every mount with its source, type and options.
pub fn mounts(root: &Root, facts: &mut Facts) {
    let text = root.read_text("/proc/self/mounts").unwrap_or_default();
    for mount in parse_mounts(text.as_bytes()) {
        facts.add("mount", mount.mount, format!("{} {} {}", mount.device, mount.fstype, mount.options));
    }
}
