//! Memory facts: sizes, swap, huge pages, NUMA.

use super::{Facts, names};
use crate::Root;

/// Sizes that do not change by themselves, and swap devices.
pub fn memory(root: &Root, facts: &mut Facts) {
    let text = root.read_text("/proc/meminfo").unwrap_or_default();
    let fixed = ["MemTotal", "SwapTotal", "HugePages_Total", "Hugepagesize", "CmaTotal", "HardwareCorrupted"];
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        if fixed.contains(&key) {
            facts.add("memory", key, value);
        }
    }
    let swaps = root.read_text("/proc/swaps").unwrap_or_default();
    for line in swaps.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The third number, what is in use, is no fact.
        if let [device, kind, size, _, priority] = words[..] {
            facts.add("swap", device, format!("{kind}, {size} kB, priority {priority}"));
        }
    }
}

/// Transparent and other huge pages, merging and compression of pages.
pub fn huge_pages(root: &Root, facts: &mut Facts) {
    const THP: &str = "/sys/kernel/mm/transparent_hugepage";
    for name in ["enabled", "defrag", "shmem_enabled", "use_zero_page", "khugepaged/defrag"] {
        facts.add_file(root, "thp", name, &format!("{THP}/{name}"));
    }
    for name in ["scan_sleep_millisecs", "pages_to_scan", "max_ptes_none"] {
        facts.add_file(root, "thp", format!("khugepaged/{name}"), &format!("{THP}/khugepaged/{name}"));
    }
    for (name, path) in [
        ("ksm run", "/sys/kernel/mm/ksm/run"),
        ("lru_gen enabled", "/sys/kernel/mm/lru_gen/enabled"),
        ("numa demotion", "/sys/kernel/mm/numa/demotion_enabled"),
        ("zswap enabled", "/sys/module/zswap/parameters/enabled"),
        ("zswap compressor", "/sys/module/zswap/parameters/compressor"),
    ] {
        facts.add_file(root, "memory", name, path);
    }
    let folder = "/sys/kernel/mm/hugepages";
    for size in names(root, folder) {
        facts.add_file(root, "hugepages", size.clone(), &format!("{folder}/{size}/nr_hugepages"));
    }
}

/// Nodes with their CPUs, memory and distances.
pub fn numa(root: &Root, facts: &mut Facts) {
    const NODES: &str = "/sys/devices/system/node";
    facts.add_file(root, "numa", "online", &format!("{NODES}/online"));
    let is_node = |name: &&String| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok());
    for node in names(root, NODES).iter().filter(is_node) {
        facts.add_file(root, "numa", format!("{node} cpus"), &format!("{NODES}/{node}/cpulist"));
        facts.add_file(root, "numa", format!("{node} distance"), &format!("{NODES}/{node}/distance"));
        let meminfo = root.read_text(&format!("{NODES}/{node}/meminfo")).unwrap_or_default();
        let total = meminfo.lines().find_map(|l| l.split_once("MemTotal:"));
        facts.add("numa", format!("{node} memory"), total.map_or("", |(_, size)| size));
    }
}
