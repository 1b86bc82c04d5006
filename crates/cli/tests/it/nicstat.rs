//! `fenxi watch nicstat` against Debian's nicstat 1.95 over the same seconds, in two network namespaces
//! joined by a veth; and against the bytes that the test sent.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket},
    os::fd::AsFd,
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::support::{Fenxi, ended_by_pipe, skipped, text};

/// Bytes on the wire of a datagram with 1000 bytes: UDP, IPv4 and Ethernet have headers.
const DATAGRAM: u64 = 1000 + 8 + 20 + 14;
const DEVICE: &str = "fxv0";
const HERE: Ipv4Addr = Ipv4Addr::new(10, 231, 7, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 231, 7, 2);

/// Both tests measure: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Two network namespaces joined by a veth, removed in the end.
struct Wire {
    here: String,
    there: String,
    _alone: MutexGuard<'static, ()>,
}

impl Wire {
    /// None, reported loudly, where that is not allowed or not installed.
    fn new(test: &str) -> Option<Wire> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            skipped(test, "network namespaces need root");
            return None;
        }
        if Command::new("nicstat").arg("-l").output().is_err() {
            skipped(test, "nicstat is not installed");
            return None;
        }
        let id = std::process::id();
        let wire = Wire { here: format!("fxnsa{id}"), there: format!("fxnsb{id}"), _alone: alone };
        for name in [&wire.here, &wire.there] {
            if !ip(&["netns", "add", name]) {
                skipped(test, "`ip netns add` is refused here");
                return None;
            }
            // Neighbour discovery of IPv6 would send packets that are not counted.
            for device in ["all", "default"] {
                let setting = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
                let _ = within(name, move || fs_err::write(setting, "1"));
            }
        }
        let (here, there) = (wire.here.as_str(), wire.there.as_str());
        assert!(ip(&["-n", here, "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", there]));
        for (name, address) in [(here, HERE), (there, THERE)] {
            assert!(ip(&["-n", name, "addr", "add", &format!("{address}/24"), "dev", DEVICE]));
            assert!(ip(&["-n", name, "link", "set", DEVICE, "up"]));
            assert!(ip(&["-n", name, "link", "set", "lo", "up"]));
        }
        // nicstat only shows interfaces that ever had a packet.
        wire.datagrams(10);
        wire.stream(10);
        Some(wire)
    }

    /// Sends `n` datagrams from here to there, and takes them.
    fn datagrams(&self, n: u64) {
        let receiver = within(&self.there, || UdpSocket::bind((THERE, 0)).unwrap());
        let to = receiver.local_addr().unwrap();
        within(&self.here, move || {
            let sender = UdpSocket::bind((HERE, 0)).unwrap();
            let mut bytes = [0; 2000];
            for _ in 0..n {
                sender.send_to(&[7; 1000], to).unwrap();
                receiver.recv(&mut bytes).unwrap();
            }
        });
    }

    /// Sends `n` kilobytes over a connection that is opened and closed for them.
    fn stream(&self, n: usize) {
        let listener = within(&self.there, || TcpListener::bind((THERE, 0)).unwrap());
        let to = listener.local_addr().unwrap();
        let reader = thread::spawn(move || listener.accept().unwrap().0.read_to_end(&mut Vec::new()).unwrap());
        within(&self.here, move || TcpStream::connect(to).unwrap().write_all(&vec![7; n * 1000]).unwrap());
        assert_eq!(reader.join().unwrap(), n * 1000);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in [&self.here, &self.there] {
            ip(&["netns", "del", name]);
        }
    }
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Does `work` on a thread within the network namespace `name`; sockets that it makes stay there.
fn within<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let path = format!("/run/netns/{name}");
    let thread = thread::spawn(move || {
        let namespace = fs_err::File::open(path).unwrap();
        rustix::thread::move_into_link_name_space(namespace.as_fd(), None).unwrap();
        work()
    });
    thread.join().unwrap()
}

fn finish(child: Child) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(status.success(), "{}", text(&stderr));
    text(&stdout)
}

/// The parts of a line; times of day and epochs all look alike.
fn parts(line: &str) -> Vec<String> {
    let colons = line.starts_with(|c: char| c.is_ascii_digit()) && line.as_bytes().get(10) == Some(&b':');
    let is_time = |word: &str| {
        let clock = word.len() == 8 && word.bytes().filter(|b| *b == b':').count() == 2;
        clock || (colons && word.len() == 10 && word.bytes().all(|b| b.is_ascii_digit()))
    };
    let words: Vec<&str> = if colons { line.split(':').collect() } else { line.split_whitespace().collect() };
    words.into_iter().map(|word| if is_time(word) { "TIME".to_owned() } else { word.to_owned() }).collect()
}

/// Whether two printed figures are the same but for rounding and for the moments of sampling, some
/// milliseconds of two seconds apart.
fn same(ours: &str, theirs: &str) -> bool {
    let (Ok(a), Ok(b)) = (ours.parse::<f64>(), theirs.parse::<f64>()) else { return ours == theirs };
    let decimals = |word: &str| word.split_once('.').map_or(0, |(_, d)| d.len() as i32);
    (a - b).abs() <= 1.01 * 10_f64.powi(-decimals(ours).min(decimals(theirs))) + 0.02 * a.abs().max(b.abs())
}

/// Columns of TCP that the original cannot fill on Linux: InKB, OutKB, %ReTX, Drops.
const ONLY_OURS: [usize; 4] = [0, 1, 6, 9];

/// Compares what both printed with the same options, line by line.
fn compare(options: &str, ours: &str, theirs: &str) {
    let show = format!("nicstat {options}\nours:\n{ours}\ntheirs:\n{theirs}");
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{show}");
    for (our_line, their_line) in ours.lines().zip(theirs.lines()) {
        let (a, b) = (parts(our_line), parts(their_line));
        let header = b.iter().any(|word| ["Int", "InKB", "InDG", "RdKB", "RdMbps"].contains(&word.as_str()));
        let masked = |line: &str| {
            let time = line.split_whitespace().next().unwrap_or("");
            if time.contains(':') { line.replacen(time, "TIME", 1) } else { line.to_owned() }
        };
        if header {
            assert_eq!(masked(our_line), masked(their_line), "{show}");
            continue;
        }
        // The form: as wide, as many fields, each as many decimals unless a figure is next to a limit.
        assert_eq!(a.len(), b.len(), "{our_line}\n{their_line}\n{show}");
        if !options.contains('p') {
            assert_eq!(our_line.len(), their_line.len(), "{our_line}\n{their_line}\n{show}");
        }
        let first = if a[0] == "TIME" { 2 } else { 1 };
        let tcp = a[first - 1] == "TCP";
        // Without UDP the original never reads TCP again after its first sample.
        let stale = !options.contains(['u', 'a']);
        for (place, (ours, theirs)) in a.iter().zip(&b).enumerate() {
            let skipped = ours == "-" || (tcp && place >= first && (stale || ONLY_OURS.contains(&(place - first))));
            assert!(skipped || same(ours, theirs), "{ours} and {theirs} in\n{our_line}\n{their_line}\n{show}");
        }
        // Nothing is unknown here but what Linux does not count, and bytes of TCP since boot.
        let unknown = a.iter().filter(|word| *word == "-").count();
        assert!(unknown <= 2, "{show}");
    }
}

#[test]
fn every_option_prints_what_nicstat_1_95_prints_over_the_same_seconds() {
    let test = "every_option_prints_what_nicstat_1_95_prints_over_the_same_seconds";
    let Some(wire) = Wire::new(test) else { return };
    let fenxi = Fenxi::new();
    let speed = format!("{DEVICE}:10000fd");
    let all = [
        "", "-p", "-x", "-px", "-s", "-U", "-xU", "-M", "-xM", "-sM", "-t", "-u", "-tu", "-a", "-aU", "-pa", "-pt",
        "-ptu",
    ];
    let start = |options: &str, ours: bool| {
        let words: Vec<&str> = options.split_whitespace().chain(["-i", DEVICE, "-S", &speed, "2", "3"]).collect();
        let mut command = if ours {
            // The original's megabits have 1,048,576 bits.
            let more: &[&str] = if options.contains('M') { &["--mebibits"] } else { &[] };
            fenxi.command(&[&["nicstat", "--netns", &wire.here], more, &words[..]].concat())
        } else {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &wire.here, "nicstat"]).args(words);
            command
        };
        command.env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = all.iter().map(|options| (options, start(options, true), start(options, false))).collect();
    // Everybody samples now, in 2 s and in 4 s: what is sent in between is all in one interval.
    thread::sleep(Duration::from_millis(900));
    wire.datagrams(4000);
    wire.stream(3000);
    thread::sleep(Duration::from_millis(1800));
    wire.datagrams(100);
    wire.stream(20);
    for (options, ours, theirs) in started {
        compare(options, &finish(ours), &finish(theirs));
    }
    for options in ["-l", "-z", "-n"] {
        let run = |ours| finish(start(options, ours));
        if options == "-l" {
            assert_eq!(run(true), run(false));
        } else {
            compare(options, &run(true), &run(false));
        }
    }
}

/// The rows of `table` that were printed as JSON.
fn rows<'v>(lines: &'v [Value], table: &str) -> Vec<&'v Value> {
    lines.iter().filter(|row| row["table"] == table && row["since_boot"].is_null()).collect()
}

/// Sum of a rate over time.
fn total(rows: &[&Value], column: &str) -> f64 {
    rows.iter().filter_map(|row| Some(row[column].as_f64()? * row["dt"].as_f64()?)).sum()
}

#[track_caller]
fn within_a_percent(what: &str, measured: f64, sent: f64) {
    eprintln!("{what}: {measured:.0} measured, {sent:.0} sent");
    assert!((measured - sent).abs() <= 0.01 * sent, "{what}: {measured} measured, {sent} sent");
}

#[test]
fn bytes_that_were_sent_come_out_and_losses_of_a_listener_too() {
    let Some(wire) = Wire::new("bytes_that_were_sent_come_out_and_losses_of_a_listener_too") else { return };
    let fenxi = Fenxi::new();
    let watch =
        |name: &str| fenxi.spawn(&["nicstat", "--netns", name, "-a", "--softnet", "--ethtool", "--json", "1", "6"]);
    let (here, there) = (watch(&wire.here), watch(&wire.there));
    thread::sleep(Duration::from_millis(700));
    wire.datagrams(20_000);
    // One connection within an interval, which no sample sees, and some more.
    for _ in 0..5 {
        wire.stream(2000);
    }
    overflow(&wire);
    let [here, there] = [here, there].map(|child| {
        let printed = finish(child);
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    });
    let device = |lines| rows(lines, "net").into_iter().filter(|row| row["interface"] == DEVICE).collect::<Vec<_>>();
    let datagrams = (20_000 * DATAGRAM) as f64;
    let streams = 10_000_000.0;
    // TCP adds headers to what it carries, 66 bytes to each packet of up to 64 KiB; and acknowledgements.
    let most = datagrams + streams * 1.05;
    for (what, lines, column) in [("sent", &here, "tx_bytes_per_s"), ("received", &there, "rx_bytes_per_s")] {
        let bytes = total(&device(lines), column);
        assert!(bytes >= datagrams + streams && bytes <= most, "{what}: {bytes}, at least {}", datagrams + streams);
    }
    within_a_percent("TCP out", total(&rows(&here, "tcp"), "out_bytes_per_s"), streams);
    within_a_percent("TCP in", total(&rows(&there, "tcp"), "in_bytes_per_s"), streams);
    within_a_percent("datagrams out", total(&rows(&here, "udp"), "out_datagrams_per_s"), 20_000.0);
    within_a_percent("datagrams in", total(&rows(&there, "udp"), "in_datagrams_per_s"), 20_000.0);
    assert!(total(&rows(&there, "tcp"), "listen_drops_per_s") >= 1.0, "connections were dropped");
    assert!(total(&rows(&here, "softnet"), "packets_per_s") >= 20_000.0);
    assert_eq!(device(&here)[0]["class"], "veth");
    datagrams_alone(&fenxi, &wire);
}

/// Nothing but datagrams: each byte of the interface is known.
fn datagrams_alone(fenxi: &Fenxi, wire: &Wire) {
    let watch = fenxi.spawn(&["nicstat", "--netns", &wire.there, "-i", DEVICE, "-y", "--json", "1", "2"]);
    thread::sleep(Duration::from_millis(500));
    wire.datagrams(10_000);
    let lines: Vec<Value> = finish(watch).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let device: Vec<_> = rows(&lines, "net").into_iter().filter(|row| row["interface"] == DEVICE).collect();
    within_a_percent("bytes", total(&device, "rx_bytes_per_s"), (10_000 * DATAGRAM) as f64);
    within_a_percent("packets", total(&device, "rx_packets_per_s"), 10_000.0);
}

/// More connections at once than a listener that accepts none has room for.
fn overflow(wire: &Wire) {
    let listener = within(&wire.there, || {
        fs_err::write("/proc/sys/net/core/somaxconn", "1").unwrap();
        TcpListener::bind((THERE, 0)).unwrap()
    });
    let port = listener.local_addr().unwrap().port();
    within(&wire.here, move || {
        let to = SocketAddrV4::new(THERE, port).into();
        let clients: Vec<_> = (0..8)
            .map(|_| thread::spawn(move || TcpStream::connect_timeout(&to, Duration::from_millis(300))))
            .collect();
        for client in clients {
            drop(client.join().unwrap());
        }
    });
}

#[test]
fn wrong_options_exit_with_2_and_a_closed_pipe_ends_it() {
    let fenxi = Fenxi::new();
    for args in [&["-S", "eth0"][..], &["0"], &["1", "0"], &["x"], &["-k"], &["--netns", "a", "--run", "@1"]] {
        fenxi.fails(2, &[&["nicstat"], args].concat());
    }
    assert!(fenxi.fails(1, &["nicstat", "-i", "no-such-interface"]).contains("no interface no-such-interface"));
    assert!(fenxi.fails(1, &["nicstat", "--netns", "no-such-namespace"]).contains("no network namespace"));
    let mut child = fenxi.spawn(&["nicstat", "0.05"]);
    drop(child.stdout.take());
    ended_by_pipe(&child.wait_with_output().unwrap());
}

#[test]
fn a_run_is_shown_again_and_a_link_answers_to_its_name() {
    let fenxi = Fenxi::new();
    let shown = fenxi.ok(&["-q", "nicstat", "-i", "lo", "--save", "kept", "-p", "0.2", "3"]);
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert_eq!(fenxi.ok(&["nicstat", "-i", "lo", "-p", "--run", "kept"]), shown);
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("nicstat");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fenxi"), &link).unwrap();
    let output = Command::new(&link).args(["-v", "-l"]).output().unwrap();
    let printed = text(&output.stdout);
    assert!(printed.starts_with("nicstat version 1.95"), "{printed}");
    assert!(printed.lines().nth(1) == Some("Int      Loopback   Mbit/s Duplex State"), "{printed}");
}
