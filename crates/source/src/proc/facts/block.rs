//! Settings of block devices.

use super::{Facts, names};
use crate::Root;

/// Files below a device's folder that are settings or lasting properties.
const FILES: &[&str] = &[
    "size",
    "ro",
    "removable",
    "queue/scheduler",
    "queue/nr_requests",
    "queue/rotational",
    "queue/read_ahead_kb",
    "queue/max_sectors_kb",
    "queue/max_hw_sectors_kb",
    "queue/logical_block_size",
    "queue/physical_block_size",
    "queue/minimum_io_size",
    "queue/optimal_io_size",
    "queue/write_cache",
    "queue/fua",
    "queue/nomerges",
    "queue/rq_affinity",
    "queue/io_poll",
    "queue/iostats",
    "queue/wbt_lat_usec",
    "queue/discard_max_bytes",
    "queue/dax",
    "queue/zoned",
    "device/model",
    "device/vendor",
    "device/queue_depth",
    "device/firmware_rev",
    "md/level",
    "md/raid_disks",
    "md/chunk_size",
    "dm/name",
];

/// Settings of every device that has a size (unused loop devices have none).
pub fn block(root: &Root, facts: &mut Facts) {
    for device in names(root, "/sys/block") {
        let folder = format!("/sys/block/{device}");
        if root.read_text(&format!("{folder}/size")).as_deref() == Some("0") {
            continue;
        }
        for file in FILES {
            let name = file.rsplit('/').next().unwrap_or(file);
            let name = if file.starts_with("md/") || file.starts_with("dm/") { file } else { name };
            facts.add_file(root, "block", format!("{device} {name}"), &format!("{folder}/{file}"));
        }
        let queues = names(root, &format!("{folder}/mq")).len();
        if queues > 0 {
            facts.add("block", format!("{device} hardware queues"), queues.to_string());
        }
        let below = names(root, &format!("{folder}/slaves"));
        facts.add("block", format!("{device} made of"), below.join(" "));
    }
}

/// Layouts of btrfs.
const PROFILES: &[&str] = &["single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"];

/// The devices of each btrfs, and the layouts of its data and metadata.
pub fn btrfs(root: &Root, facts: &mut Facts) {
    for id in names(root, "/sys/fs/btrfs").into_iter().filter(|name| name != "features") {
        let folder = format!("/sys/fs/btrfs/{id}");
        facts.add("block", format!("btrfs {id} devices"), names(root, &format!("{folder}/devices")).join(" "));
        for kind in ["data", "metadata"] {
            let below = names(root, &format!("{folder}/allocation/{kind}"));
            let profiles: Vec<_> = below.into_iter().filter(|name| PROFILES.contains(&name.as_str())).collect();
            facts.add("block", format!("btrfs {id} {kind} profile"), profiles.join(" "));
        }
    }
}
