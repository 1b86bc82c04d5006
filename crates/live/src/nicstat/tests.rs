//! Frames made by hand, and the text that nicstat would print for them.

use fenxi_model::{
    Micros, Rows,
    catalog::{net, net_driver, softnet, tcp, udp},
};
use jiff::tz::TimeZone;

use super::{Columns, Nicstat, Options, Throughput};
use crate::{Frame, View};

/// 2026-11-21 02:44:37 UTC.
const T: Micros = Micros(1_795_229_077_900_000);

fn options() -> Options {
    Options {
        columns: Columns::Full,
        parseable: false,
        by_direction: false,
        throughput: Throughput::Kilobytes,
        tcp: false,
        udp: false,
        skip_zero: false,
        skip_loopback: false,
        only: Vec::new(),
        speeds: Vec::new(),
        kinds: false,
        list: false,
        softnet: false,
        drivers: false,
    }
}

/// `lo` without a speed, `eth0` with 1000 Mb/s full duplex, `br0` without a packet.
fn rows() -> Rows {
    let mut rows = Rows::new("h");
    for (name, class, rx, tx) in
        [("lo", "loopback", 4_767_436.8, 4_767_436.8), ("eth0", "physical", 25e6, 5e6), ("br0", "bridge", 0.0, 0.0)]
    {
        let mut row = rows.row(&net::TABLE, T, 1.0);
        row.str(net::interface, name).str(net::class, class).str(net::state, "up");
        row.f64(net::rx_bytes_per_s, rx).f64(net::tx_bytes_per_s, tx);
        row.f64(net::rx_packets_per_s, rx / 500.0).f64(net::tx_packets_per_s, tx / 500.0);
        if rx > 0.0 {
            row.f64(net::rx_packet_bytes, 500.0).f64(net::tx_packet_bytes, 500.0);
        }
        for (place, value) in [
            (net::rx_errors_per_s, 1.0),
            (net::tx_errors_per_s, 12.25),
            (net::rx_drops_per_s, 2.0),
            (net::tx_drops_per_s, 3.0),
            (net::rx_fifo_per_s, 1000.0),
            (net::tx_fifo_per_s, 4.0),
            (net::collisions_per_s, 500.0),
            (net::carrier_errors_per_s, 6.0),
        ] {
            row.f64(place, if name == "eth0" { value } else { 0.0 });
        }
        if name == "eth0" {
            row.f64(net::speed_mbps, 1000.0).str(net::duplex, "full");
        }
    }
    rows
}

/// The text of `n` frames.
fn shown(options: Options, rows: &Rows, n: usize) -> String {
    let mut view = Nicstat::new(options, TimeZone::UTC);
    let mut out = String::new();
    for _ in 0..n {
        view.frame(&Frame { t: T, dt: 1.0, since_boot: false, rows }, &mut out);
    }
    out
}

#[track_caller]
fn check(options: Options, rows: &Rows, expected: &str) {
    let shown = shown(options, rows, 1);
    assert_eq!(shown.trim_end(), expected.trim_matches('\n'), "\n{shown}");
}

#[test]
fn interfaces_stand_in_the_original_columns() {
    check(
        options(),
        &rows(),
        "
    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat
02:44:37       lo  4655.7  4655.7  9534.9  9534.9   500.0   500.0     -   0.00
02:44:37     eth0 24414.1  4882.8 50000.0 10000.0   500.0   500.0  20.0  516.0
02:44:37      br0    0.00    0.00    0.00    0.00    0.00    0.00     -   0.00",
    );
    check(
        Options { columns: Columns::Extended, only: vec!["eth0".to_owned()], ..options() },
        &rows(),
        "
02:44:37      RdKB    WrKB   RdPkt   WrPkt   IErr  OErr  Coll  NoCP Defer  %Util
eth0       24414.1  4882.8 50000.0 10000.0   1.00  12.2   500     -     -   20.0",
    );
    check(
        Options { columns: Columns::Summary, skip_loopback: true, skip_zero: true, ..options() },
        &rows(),
        "
    Time      Int          rKB/s          wKB/s
02:44:37     eth0      24414.062       4882.812",
    );
}

#[test]
fn directions_megabits_and_kinds_are_the_users_choice() {
    check(
        Options { by_direction: true, throughput: Throughput::Megabits, skip_loopback: true, kinds: true, ..options() },
        &rows(),
        "
    Time      Int   rMbps   wMbps   rPk/s   wPk/s    rAvs    wAvs %rUtil %wUtil
02:44:37     eth0   200.0   40.00 50000.0 10000.0   500.0   500.0   20.0   4.00
02:44:37      br0    0.00    0.00    0.00    0.00    0.00    0.00      -      - bridge",
    );
    let columns = Columns::Extended;
    check(
        Options { columns, by_direction: true, throughput: Throughput::Mebibits, skip_zero: true, ..options() },
        &rows(),
        "
02:44:37    RdMbps  WrMbps   RdPkt   WrPkt   IErr  OErr  Coll  NoCP Defer %rUtil %wUtil
lo           36.37   36.37  9534.9  9534.9   0.00  0.00  0.00     -     -      -      -
eth0         190.7   38.15 50000.0 10000.0   1.00  12.2   500     -     -   20.0   4.00",
    );
}

#[test]
fn a_speed_that_was_given_wins_over_the_drivers() {
    let given = |text: &str| vec![text.parse().unwrap()];
    let util = |speeds| {
        let options = Options { speeds, parseable: true, skip_loopback: true, skip_zero: true, ..options() };
        shown(options, &rows(), 1).split(':').nth(6).unwrap().to_owned()
    };
    assert_eq!(util(given("eth0:400fd")), "50.0");
    assert_eq!(util(given("eth0:1000hd")), "24.0");
    assert_eq!(util(given("eth0:100000")), "0.20");
    assert_eq!(util(given("eth0:100")), "100");
    assert_eq!(util(given("eth0:1:100")), "20.0");
    for wrong in ["eth0", "eth0:", "eth0:fast", "eth0:0", "eth0:-5", ":100", "eth0:100xd"] {
        assert!(wrong.parse::<super::Speed>().is_err(), "{wrong}");
    }
}

#[test]
fn parseable_lines_keep_their_fields() {
    let parseable = Options { parseable: true, skip_zero: true, ..options() };
    check(
        parseable.clone(),
        &rows(),
        "
1795229077:lo:4655.7:4655.7:9534.9:9534.9:-:0.00
1795229077:eth0:24414:4882.8:50000:10000:20.0:516.0",
    );
    check(
        Options { columns: Columns::Extended, skip_loopback: true, ..parseable },
        &rows(),
        "1795229077:eth0:24414:4882.8:50000:10000:20.0:516.0:1.00:12.25:500.0:-:-",
    );
}

#[test]
fn protocols_come_first_and_what_is_unknown_is_a_dash() {
    let mut rows = Rows::new("h");
    rows.row(&tcp::TABLE, T, 1.0)
        .f64(tcp::in_segments_per_s, 9001.94)
        .f64(tcp::out_segments_per_s, 20.0)
        .f64(tcp::estab_resets_per_s, 1.0)
        .f64(tcp::out_resets_per_s, 15.0)
        .f64(tcp::out_bytes_per_s, 2048.0)
        .f64(tcp::retransmit, 1.5)
        .f64(tcp::passive_opens_per_s, 16.0)
        .f64(tcp::listen_drops_per_s, 0.25);
    rows.row(&udp::TABLE, T, 1.0).f64(udp::in_datagrams_per_s, 0.5).f64(udp::send_buffer_errors_per_s, 123_456.0);
    let protocols = Options { tcp: true, udp: true, columns: Columns::None, ..options() };
    check(
        protocols.clone(),
        &rows,
        "
02:44:37    InKB   OutKB   InSeg  OutSeg Reset  AttF %ReTX InConn OutCon Drops
TCP            -    2.00  9001.9   20.00  16.0     - 1.500   16.0      -  0.25
02:44:37                    InDG   OutDG     InErr  OutErr
UDP                         0.50       -         -  123456",
    );
    check(
        Options { parseable: true, ..protocols },
        &rows,
        "
1795229077:TCP:-:2.000:9001.9:20.00:16.00:-:1.500:16.00:-:0.250
1795229077:UDP:0.500:-:-:123456",
    );
}

#[test]
fn the_header_comes_every_frame_or_every_twenty_lines_of_a_single_interface() {
    let headers = |options, n| shown(options, &rows(), n).matches("rKB/s").count();
    assert_eq!(headers(options(), 5), 5);
    let single = Options { only: vec!["eth0".to_owned()], ..options() };
    assert_eq!([20, 21, 40, 41].map(|n| headers(single.clone(), n)), [1, 2, 2, 3]);
}

#[test]
fn the_list_is_made_once_and_says_what_is_not_known() {
    let list = Options { list: true, ..options() };
    let expected = "
Int      Loopback   Mbit/s Duplex State
lo            Yes        -   unkn    up
eth0           No     1000   full    up
br0            No        -   unkn    up";
    check(list.clone(), &rows(), expected);
    assert_eq!(shown(list.clone(), &rows(), 3), shown(list.clone(), &rows(), 1));
    assert!(shown(Options { kinds: true, ..list }, &rows(), 1).ends_with("unkn    up bridge\n"));
}

#[test]
fn the_stack_and_the_drivers_have_lines_of_their_own() {
    let mut rows = Rows::new("h");
    for (cpu, packets, drops) in [("0", 10.0, 0.0), ("1", 0.0, 0.0), ("17", 30.0, 2.5)] {
        let mut row = rows.row(&softnet::TABLE, T, 1.0);
        row.str(softnet::cpu, cpu).f64(softnet::packets_per_s, packets).f64(softnet::drops_per_s, drops);
        row.f64(softnet::squeezes_per_s, 0.0);
    }
    for (name, counter, growth) in [("eth0", "rx0_packets", 40.0), ("eth1", "rx_no_buffer_drops", 2.5)] {
        let mut row = rows.row(&net_driver::TABLE, T, 1.0);
        row.str(net_driver::interface, name).str(net_driver::counter, counter).f64(net_driver::growth_per_s, growth);
    }
    let both = Options { columns: Columns::None, softnet: true, drivers: true, ..options() };
    check(
        both.clone(),
        &rows,
        "
02:44:37      CPU Packets   Drops Squeeze FlowLim     RPS Backlog
softnet       all   40.00    2.50    0.00       -       -       -
softnet         0   10.00    0.00    0.00       -       -       -
softnet        17   30.00    2.50    0.00       -       -       -
02:44:37      Int          /s  Driver's counter
driver       eth0        40.0  rx0_packets
driver       eth1        2.50  rx_no_buffer_drops  !",
    );
    check(
        Options { parseable: true, softnet: false, only: vec!["eth1".to_owned()], ..both },
        &rows,
        "1795229077:DRIVER:eth1:rx_no_buffer_drops:2.500",
    );
}

#[test]
fn rows_of_another_tool_without_speeds_keep_their_utilisation() {
    let mut rows = Rows::new("h");
    let mut row = rows.row(&net::TABLE, T, 1.0);
    row.str(net::interface, "eth0").f64(net::rx_bytes_per_s, 1024.0).f64(net::util, 12.34);
    check(Options { parseable: true, ..options() }, &rows, "1795229077:eth0:1.000:-:-:-:12.3:-");
}
