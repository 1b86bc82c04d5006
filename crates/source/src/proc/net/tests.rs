//! Hand-calculated figures of /proc/net/dev.

use super::SOURCE;
use crate::testing::{Machine, Observed, near, observe};

const FILE: &str = "/proc/net/dev";
const HEAD: &str =
    "Inter-|   Receive                            |  Transmit\n face |bytes packets errs|bytes packets\n";

#[test]
fn figures_of_a_captured_interval_are_those_worked_out_by_hand() {
    let seen = observe(&SOURCE, "net", 2.0);
    let get = |column| seen.value("net", column, &["eth0"]);
    assert_eq!(seen.keys("net"), [["lo"], ["ifb0"], ["ifb1"], ["eth0"]]);
    assert_eq!(seen.text("net", "class", &["eth0"]).as_deref(), Some("physical"));
    assert_eq!(seen.text("net", "class", &["lo"]).as_deref(), Some("loopback"));
    // rx 343941250 bytes 10565 packets -> 343944779, 10576; tx 653130, 6263 -> 654776, 6276
    near(get("rx_bytes_per_s"), 3529.0 / 2.0);
    near(get("rx_packets_per_s"), 11.0 / 2.0);
    near(get("rx_packet_bytes"), 3529.0 / 11.0);
    near(get("tx_bytes_per_s"), 1646.0 / 2.0);
    near(get("tx_packets_per_s"), 13.0 / 2.0);
    near(get("saturation_per_s"), 0.0);
    // virtio does not know its speed.
    assert_eq!((get("speed_mbps"), get("util")), (None, None));
    assert_eq!(seen.value("net", "rx_packet_bytes", &["lo"]), None);
}

fn line(name: &str, values: [u64; 16]) -> String {
    format!("{name}:{}\n", values.map(|v| v.to_string()).join(" "))
}

/// Rows of one text after another, over two seconds.
fn interval(machine: Machine, before: &str, after: &str) -> Observed {
    machine.put(FILE, format!("{HEAD}{before}"));
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put(FILE, format!("{HEAD}{after}"));
    session.tick(2.0)
}

#[test]
fn each_field_lands_in_its_column() {
    let before = line("eth0", [0; 16]);
    let after = line("eth0", [200, 2, 4, 6, 8, 10, 12, 14, 400, 4, 16, 18, 20, 22, 24, 26]);
    let seen = interval(Machine::new(), &before, &after);
    for (column, expected) in [
        ("rx_bytes_per_s", 100.0),
        ("rx_packets_per_s", 1.0),
        ("rx_packet_bytes", 100.0),
        ("rx_errors_per_s", 2.0),
        ("rx_drops_per_s", 3.0),
        ("rx_fifo_per_s", 4.0),
        ("frame_errors_per_s", 5.0),
        ("rx_compressed_per_s", 6.0),
        ("multicast_per_s", 7.0),
        ("tx_bytes_per_s", 200.0),
        ("tx_packets_per_s", 2.0),
        ("tx_packet_bytes", 100.0),
        ("tx_errors_per_s", 8.0),
        ("tx_drops_per_s", 9.0),
        ("tx_fifo_per_s", 10.0),
        ("collisions_per_s", 11.0),
        ("carrier_errors_per_s", 12.0),
        ("tx_compressed_per_s", 13.0),
        ("saturation_per_s", 2.0 + 3.0 + 4.0 + 8.0 + 9.0 + 10.0),
    ] {
        near(seen.value("net", column, &["eth0"]), expected);
    }
}

#[test]
fn odd_names_are_names() {
    let one = [1; 16];
    let names = ["eth0:1", "wlan@if3", "enp0s31f6.4094", "ppp%d", "-x-", "näme", "0"];
    let text: String = names.iter().map(|n| line(n, one)).collect();
    let seen = interval(Machine::new(), &text, &text.replace(":1 1 1", ":3 1 1"));
    assert_eq!(seen.keys("net").concat(), names);
    for name in names {
        near(seen.value("net", "rx_bytes_per_s", &[name]), 1.0);
    }
    assert!(seen.notes().is_empty());
}

#[test]
fn utilisation_follows_speed_and_duplex() {
    let machine = Machine::new();
    machine.put("/sys/class/net/eth0/speed", "1000").put("/sys/class/net/eth0/duplex", "full");
    machine.put("/sys/class/net/eth0/device/vendor", "1");
    let mut after = [0; 16];
    (after[0], after[8]) = (50_000_000, 25_000_000);
    let seen = interval(machine, &line("eth0", [0; 16]), &line("eth0", after));
    // 50 MB in 2 s are 200 Mb/s of 1000.
    near(seen.value("net", "util", &["eth0"]), 20.0);
    near(seen.value("net", "speed_mbps", &["eth0"]), 1000.0);
    assert_eq!(seen.text("net", "duplex", &["eth0"]).as_deref(), Some("full"));
}

#[test]
fn a_32_bit_counter_wraps_but_a_restarted_interface_is_a_reset() {
    let mut before = [10; 16];
    before[0] = u64::from(u32::MAX) - 99;
    let mut after = [10; 16];
    (after[0], after[1]) = (100, 12);
    let seen = interval(Machine::new(), &line("eth0", before), &line("eth0", after));
    near(seen.value("net", "rx_bytes_per_s", &["eth0"]), 100.0);
    near(seen.value("net", "rx_packet_bytes", &["eth0"]), 100.0);

    // Its packets went back too, so that was no wrap.
    after[1] = 1;
    let seen = interval(Machine::new(), &line("eth0", before), &line("eth0", after));
    assert_eq!(seen.value("net", "rx_bytes_per_s", &["eth0"]), None);
    assert_eq!(seen.value("net", "saturation_per_s", &["eth0"]), None);
    assert!(seen.events()[0].starts_with("counter reset eth0"));
}

#[test]
fn an_interface_that_appears_has_no_rates_at_first_and_one_that_goes_an_event() {
    let machine = Machine::new();
    machine.put(FILE, format!("{HEAD}{}", line("eth0", [5; 16])));
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put(FILE, format!("{HEAD}{}{}", line("veth9", [7_000_000; 16]), line("eth0", [5; 16])));
    let first = session.tick(1.0);
    assert_eq!(first.events(), ["appeared veth9: network interface"]);
    assert_eq!(first.keys("net"), [["eth0"]]);
    session.machine.put(FILE, format!("{HEAD}{}", line("veth9", [7_000_003; 16])));
    let second = session.tick(1.0);
    assert_eq!(second.events(), ["gone eth0: network interface"]);
    near(second.value("net", "rx_bytes_per_s", &["veth9"]), 3.0);
}

#[test]
fn a_speed_that_changes_is_seen_within_half_a_minute() {
    let machine = Machine::new();
    machine.put("/sys/class/net/eth0/speed", "1000").put(FILE, format!("{HEAD}{}", line("eth0", [5; 16])));
    machine.put("/sys/class/net/eth0/device/vendor", "1");
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put("/sys/class/net/eth0/speed", "10000");
    near(session.tick(29.0).value("net", "speed_mbps", &["eth0"]), 1000.0);
    near(session.tick(1.0).value("net", "speed_mbps", &["eth0"]), 10_000.0);
}

#[test]
fn a_line_of_unknown_form_is_noted_once() {
    let machine = Machine::new();
    machine.put(FILE, format!("{HEAD}eth0: 1 2 3\n"));
    let mut session = machine.start(&SOURCE);
    assert_eq!(session.tick(None).notes().len(), 1);
    assert_eq!(session.tick(1.0).notes().len(), 0);
}

#[test]
fn since_boot_counters_began_at_nothing_and_nobody_appeared() {
    let machine = Machine::new();
    machine.put(FILE, format!("{HEAD}{}{}", line("eth0", [500; 16]), line("dummy0", [0; 16])));
    let mut session = machine.start(&SOURCE);
    let seen = session.since_boot(100.0);
    near(seen.value("net", "rx_bytes_per_s", &["eth0"]), 5.0);
    near(seen.value("net", "rx_bytes_per_s", &["dummy0"]), 0.0);
    assert!(seen.events().is_empty());
    session.machine.put(FILE, format!("{HEAD}{}{}", line("eth0", [600; 16]), line("late0", [700; 16])));
    let seen = session.tick(2.0);
    near(seen.value("net", "rx_bytes_per_s", &["eth0"]), 50.0);
    assert!(!seen.has("net", &["late0"]), "its counters did not grow in these seconds");
}
