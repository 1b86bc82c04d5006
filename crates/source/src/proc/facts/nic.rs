//! Settings of network interfaces.

use super::{Facts, ethtool, names};
use crate::Root;

/// Link, driver, queues and, of the live system, offloads and rings of every interface.
pub fn nic(root: &Root, facts: &mut Facts) {
    const NICS: &str = "/sys/class/net";
    let asker = root.is_live().then(ethtool::Asker::open).flatten();
    for nic in names(root, NICS) {
        let folder = format!("{NICS}/{nic}");
        if !root.is_dir(&folder) {
            // A file such as `bonding_masters`.
            continue;
        }
        for file in ["mtu", "speed", "duplex", "operstate", "tx_queue_len", "gro_flush_timeout", "threaded"] {
            match root.read_text(&format!("{folder}/{file}")) {
                Some(value) if value != "-1" => facts.add("nic", format!("{nic} {file}"), value),
                _ => {}
            }
        }
        let driver = root.read_link(&format!("{folder}/device/driver"));
        let driver = driver.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        facts.add("nic", format!("{nic} driver"), driver.unwrap_or_default());
        facts.add_file(root, "nic", format!("{nic} numa node"), &format!("{folder}/device/numa_node"));
        let queues = names(root, &format!("{folder}/queues"));
        for kind in ["rx", "tx"] {
            let mine = queues.iter().filter(|q| q.starts_with(kind));
            let n = mine.clone().count();
            if n > 0 {
                facts.add("nic", format!("{nic} {kind} queues"), n.to_string());
            }
            // Steering of packets to CPUs: all zeroes where it is off.
            let file = if kind == "rx" { "rps_cpus" } else { "xps_cpus" };
            let masks = mine.filter_map(|q| root.read_text(&format!("{folder}/queues/{q}/{file}")));
            let masks: Vec<String> = masks.filter(|m| m.bytes().any(|b| !matches!(b, b'0' | b','))).collect();
            facts.add("nic", format!("{nic} {file}"), masks.join(" "));
        }
        for (name, value) in asker.iter().flat_map(|a| a.ask(&nic)) {
            facts.add("nic", format!("{nic} {name}"), value);
        }
    }
}
