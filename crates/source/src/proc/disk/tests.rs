//! Hand-calculated figures of every form of /proc/diskstats.

use super::{SOURCE, is_partition_name};
use crate::testing::{Machine, near, observe};

const FILE: &str = "/proc/diskstats";

#[test]
fn figures_of_a_captured_interval_are_those_worked_out_by_hand() {
    let seen = observe(&SOURCE, "disk", 2.0);
    let get = |column| seen.value("disk", column, &["vda"]);
    assert_eq!(seen.text("disk", "class", &["vda"]).as_deref(), Some("disk"));
    // Empty loop devices and zram0 never did any I/O.
    assert_eq!(seen.count("disk"), 1);
    // before: 85240 15389 10445474 41479 42260 36771 8900000 29320 0 15524 72225 12748 35 2231872 1195 6218 229
    // after:  85251 15418 10445962 41481 42364 36818 9031784 29350 0 15540 72256 12748 35 2231872 1195 6219 229
    near(get("reads_per_s"), 11.0 / 2.0);
    near(get("reads_merged_per_s"), 29.0 / 2.0);
    near(get("read_bytes_per_s"), 488.0 * 512.0 / 2.0);
    near(get("read_await_ms"), 2.0 / 11.0);
    near(get("writes_per_s"), 104.0 / 2.0);
    near(get("writes_merged_per_s"), 47.0 / 2.0);
    near(get("write_bytes_per_s"), 131_784.0 * 512.0 / 2.0);
    near(get("write_size_bytes"), 131_784.0 * 512.0 / 104.0);
    near(get("write_await_ms"), 30.0 / 104.0);
    near(get("await_ms"), 32.0 / 115.0);
    near(get("flushes_per_s"), 0.5);
    near(get("flush_await_ms"), 0.0);
    near(get("util"), 16.0 / 2000.0 * 100.0);
    near(get("svctm_ms"), 16.0 / 115.0);
    near(get("queue_depth"), 31.0 / 2000.0);
    near(get("discards_per_s"), 0.0);
    assert_eq!(get("discard_await_ms"), None);
}

/// Rows of one line after another, over one second.
fn interval(before: &str, after: &str) -> crate::testing::Observed {
    let machine = Machine::new();
    machine.put(FILE, before);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put(FILE, after);
    session.tick(1.0)
}

#[test]
fn every_form_since_2_6_is_read() {
    let old = interval("3 1 hda1 5 40 7 56\n", "3 1 hda1 9 72 8 64\n");
    near(old.value("disk", "reads_per_s", &["hda1"]), 4.0);
    near(old.value("disk", "read_bytes_per_s", &["hda1"]), 32.0 * 512.0);
    assert_eq!(old.value("disk", "util", &["hda1"]), None);
    assert_eq!(old.text("disk", "class", &["hda1"]).as_deref(), Some("partition"));

    let classic = interval("8 0 sda 1 0 8 4 0 0 0 0 0 4 4\n", "8 0 sda 3 0 24 10 0 0 0 0 1 9 10\n");
    near(classic.value("disk", "read_await_ms", &["sda"]), 3.0);
    near(classic.value("disk", "in_flight", &["sda"]), 1.0);
    assert_eq!(classic.value("disk", "discards_per_s", &["sda"]), None);

    let discards = interval("8 0 sda 1 0 8 4 0 0 0 0 0 4 4 0 0 0 0\n", "8 0 sda 1 0 8 4 0 0 0 0 0 4 4 5 0 80 10\n");
    near(discards.value("disk", "discards_per_s", &["sda"]), 5.0);
    near(discards.value("disk", "discard_bytes_per_s", &["sda"]), 80.0 * 512.0);
    near(discards.value("disk", "discard_await_ms", &["sda"]), 2.0);
    assert_eq!(discards.value("disk", "flushes_per_s", &["sda"]), None);
}

#[test]
fn a_time_that_wraps_at_32_bits_goes_on() {
    let before = "8 0 sda 100 0 800 4294967290 0 0 0 0 0 4294967000 4294967296 0 0 0 0 0 0\n";
    let after = "8 0 sda 110 0 880 94 0 0 0 0 0 204 0 0 0 0 0 0 0\n".replace("204 0 0", "204 4294967396 0");
    let seen = interval(before, &after);
    near(seen.value("disk", "read_await_ms", &["sda"]), 100.0 / 10.0);
    near(seen.value("disk", "util", &["sda"]), 50.0);
    near(seen.value("disk", "queue_depth", &["sda"]), 0.1);
    assert_eq!(seen.events(), Vec::<String>::new());
}

#[test]
fn after_a_reset_there_are_no_rates_but_an_event() {
    let seen = interval("8 0 sda 100 0 800 50 9 0 72 9 0 40 50\n", "8 0 sda 2 0 16 60 9 0 72 9 1 41 51\n");
    for column in ["reads_per_s", "read_await_ms", "util", "write_bytes_per_s"] {
        assert_eq!(seen.value("disk", column, &["sda"]), None, "{column}");
    }
    near(seen.value("disk", "in_flight", &["sda"]), 1.0);
    assert_eq!(seen.events().len(), 1);
    assert!(seen.events()[0].starts_with("counter reset sda"));
}

#[test]
fn a_device_that_appears_has_rates_from_its_second_sample_and_one_that_goes_an_event() {
    let sda = "8 0 sda 1 0 8 4 0 0 0 0 0 4 4\n";
    let machine = Machine::new();
    machine.put(FILE, sda);
    let mut session = machine.start(&SOURCE);
    assert!(session.tick(None).events().is_empty());
    session.machine.put(FILE, format!("{sda}8 16 sdb 500 0 8 4 0 0 0 0 0 4 4\n"));
    let first = session.tick(1.0);
    assert_eq!(first.events(), ["appeared sdb: block device"]);
    assert!(!first.has("disk", &["sdb"]));
    session.machine.put(FILE, "8 16 sdb 507 0 8 4 0 0 0 0 0 4 4\n");
    let second = session.tick(1.0);
    near(second.value("disk", "reads_per_s", &["sdb"]), 7.0);
    assert_eq!(second.events(), ["gone sda: block device"]);
}

#[test]
fn utilisation_is_never_above_100() {
    let seen = interval("8 0 sda 1 0 8 4 0 0 0 0 0 0 4\n", "8 0 sda 2 0 8 4 0 0 0 0 0 1004 4\n");
    near(seen.value("disk", "util", &["sda"]), 100.0);
}

#[test]
fn a_line_of_unknown_form_is_noted_once() {
    let text = "8 0 sda 1 0\n8 1 sda1 x 0 0 0 0 0 0 0 0 0 0\n8 2 sda2 1 0 8 4 0 0 0 0 0 4 4\n";
    let machine = Machine::new();
    machine.put(FILE, text);
    let mut session = machine.start(&SOURCE);
    assert_eq!(session.tick(None).notes().len(), 1);
    let seen = session.tick(1.0);
    assert_eq!((seen.notes().len(), seen.count("disk")), (0, 1));
}

#[test]
fn the_class_is_what_sysfs_says_and_else_what_the_name_says() {
    let machine = Machine::new();
    let names = ["xvda1", "xvdb", "dm-3", "md127", "md127p1", "loop4", "ram0", "zram0", "sr0", "cciss/c0d0", "srv"];
    let text: String = names.iter().map(|n| format!("8 0 {n} 1 0 8 4 0 0 0 0 0 4 4\n")).collect();
    machine.put(FILE, text);
    // On some clouds a whole disk bears a partition's name.
    machine.put("/sys/class/block/xvda1/size", "1");
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    let seen = session.tick(1.0);
    let classes: Vec<_> = names.iter().map(|n| seen.text("disk", "class", &[n]).unwrap()).collect();
    let expected = ["disk", "disk", "dm", "md", "partition", "loop", "ram", "zram", "rom", "disk", "disk"];
    assert_eq!(classes, expected);
}

#[test]
fn partitions_are_recognised_by_name() {
    for name in ["sda1", "hdb12", "xvda1", "nvme0n1p1", "mmcblk0p2", "nbd3p1", "cciss/c0d0p1", "loop0p1"] {
        assert!(is_partition_name(name), "{name}");
    }
    for name in ["sda", "nvme0n1", "mmcblk0", "dm-0", "sr0", "md0", "zram0", "sd1", "cciss/c0d0"] {
        assert!(!is_partition_name(name), "{name}");
    }
}
