//! CPU facts: model, topology, caches, mitigations, frequency control; as in lscpu.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, names};
use crate::Root;

const CPUS: &str = "/sys/devices/system/cpu";

/// The first processor in /proc/cpuinfo, and how many there are.
pub fn model(root: &Root, facts: &mut Facts) {
    let text = root.read_text("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    // x86 and then the words of ARM, POWER and s390 for the same.
    let wanted = [
        ("vendor_id", "vendor"),
        ("model name", "model"),
        ("cpu family", "family"),
        ("model", "model number"),
        ("stepping", "stepping"),
        ("microcode", "microcode"),
        ("cache size", "cache size"),
        ("flags", "flags"),
        ("CPU implementer", "implementer"),
        ("CPU part", "part"),
        ("Features", "flags"),
        ("cpu", "model"),
        ("revision", "stepping"),
    ];
    for line in first.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        if let Some((_, name)) = wanted.iter().find(|(k, _)| *k == key.trim()) {
            facts.add("cpu", *name, value);
        }
    }
    let n = text.lines().filter(|l| l.starts_with("processor")).count();
    if n > 0 {
        facts.add("cpu", "processors", n.to_string());
    }
}

/// Sockets, cores, threads; which CPUs are online; SMT.
pub fn topology(root: &Root, facts: &mut Facts) {
    for (name, file) in [
        ("online", "online"),
        ("offline", "offline"),
        ("possible", "possible"),
        ("isolated", "isolated"),
        ("nohz full", "nohz_full"),
        ("smt control", "smt/control"),
        ("smt active", "smt/active"),
    ] {
        facts.add_file(root, "cpu", name, &format!("{CPUS}/{file}"));
    }
    let (mut sockets, mut cores, mut threads) = (BTreeSet::new(), BTreeMap::new(), 0_usize);
    for cpu in names(root, CPUS).iter().filter(|n| is_cpu(n)) {
        let get = |file: &str| root.read_text(&format!("{CPUS}/{cpu}/topology/{file}"));
        let (Some(socket), Some(core)) = (get("physical_package_id"), get("core_id")) else { continue };
        threads += 1;
        // Core ids are unique within a die only.
        let of_core: &mut Vec<u32> = cores.entry((socket.clone(), get("die_id"), core)).or_default();
        of_core.extend(cpu["cpu".len()..].parse::<u32>().ok());
        sockets.insert(socket);
    }
    if threads > 0 {
        facts.add("cpu", "sockets", sockets.len().to_string());
        facts.add("cpu", "cores", cores.len().to_string());
        facts.add("cpu", "threads", threads.to_string());
        let per_core = threads as f64 / cores.len().max(1) as f64;
        facts.add("cpu", "threads per core", per_core.to_string());
        // By these a utilisation of CPUs can be turned into one of cores.
        let mut lists: Vec<Vec<u32>> = cores.into_values().collect();
        lists.iter_mut().for_each(|list| list.sort_unstable());
        lists.sort_unstable();
        let list = |cpus: Vec<u32>| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        facts.add("cpu", "threads of cores", lists.into_iter().map(list).collect::<Vec<_>>().join(" "));
    }
}

fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Caches as the first CPU sees them.
pub fn caches(root: &Root, facts: &mut Facts) {
    let folder = format!("{CPUS}/cpu0/cache");
    for index in names(root, &folder).iter().filter(|n| n.starts_with("index")) {
        let get = |file: &str| root.read_text(&format!("{folder}/{index}/{file}"));
        let (Some(level), Some(kind), Some(size)) = (get("level"), get("type"), get("size")) else { continue };
        let letter = match kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let shared = get("shared_cpu_list").unwrap_or_default();
        let ways = get("ways_of_associativity").unwrap_or_default();
        facts.add("cpu", format!("cache L{level}{letter}"), format!("{size}, {ways} ways, CPUs {shared}"));
    }
}

/// The idle states of the first CPU: the longest time that leaving each takes, and whether it is disabled.
pub fn idle_states(root: &Root, facts: &mut Facts) {
    let folder = format!("{CPUS}/cpu0/cpuidle");
    for n in 0..names(root, &folder).len() {
        let get = |file: &str| root.read_text(&format!("{folder}/state{n}/{file}"));
        let (Some(name), Some(exit_us)) = (get("name"), get("latency")) else { continue };
        let disabled = if get("disable").is_some_and(|text| text != "0") { ", disabled" } else { "" };
        facts.add("cpu", format!("idle state {n}"), format!("{name}, exit latency {exit_us} us{disabled}"));
    }
}

/// Hardware vulnerabilities and what is done about them.
pub fn vulnerabilities(root: &Root, facts: &mut Facts) {
    let folder = format!("{CPUS}/vulnerabilities");
    for name in names(root, &folder) {
        facts.add_file(root, "vulnerability", name.clone(), &format!("{folder}/{name}"));
    }
}

/// Facts of frequency scaling: settings, not the current frequency.
pub fn frequency(root: &Root, facts: &mut Facts) {
    const TOPIC: &str = "cpufreq";
    for (name, path) in [
        ("boost", "cpufreq/boost"),
        ("intel_pstate status", "intel_pstate/status"),
        ("intel_pstate no_turbo", "intel_pstate/no_turbo"),
        ("amd_pstate status", "amd_pstate/status"),
        ("cpuidle driver", "cpuidle/current_driver"),
        ("cpuidle governor", "cpuidle/current_governor"),
    ] {
        facts.add_file(root, TOPIC, name, &format!("{CPUS}/{path}"));
    }
    let files = [
        "scaling_driver",
        "scaling_governor",
        "scaling_min_freq",
        "scaling_max_freq",
        "cpuinfo_min_freq",
        "cpuinfo_max_freq",
        "energy_performance_preference",
    ];
    for file in files {
        // Mostly all are alike: say so in one fact, and list the CPUs where they are not.
        let mut by_value: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for policy in names(root, &format!("{CPUS}/cpufreq")).iter().filter(|n| n.starts_with("policy")) {
            let Some(value) = root.read_text(&format!("{CPUS}/cpufreq/{policy}/{file}")) else { continue };
            by_value.entry(value).or_default().push(policy.trim_start_matches("policy").to_owned());
        }
        let value = match by_value.len() {
            1 => by_value.into_keys().collect(),
            _ => {
                by_value.iter().map(|(v, cpus)| format!("{v} (CPU {})", cpus.join(","))).collect::<Vec<_>>().join("; ")
            }
        };
        facts.add(TOPIC, file, value);
    }
}
