//! `fenxi net`: mixes of runs, and peaks of a veth pair whose limits are known.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::{Command, Output, Stdio},
    time::Duration,
};

use fs_err as fs;
use serde_json::Value;

use crate::{
    stub::Stub,
    support::{Fenxi, signal, skipped, text, wait_for},
};

/// Two network namespaces with a veth pair, removed in the end: `v0` has 10.213.7.1, `v1` 10.213.7.2.
struct Pair([String; 2]);

impl Pair {
    /// None, reported loudly, where that is not allowed.
    fn new(test: &str) -> Option<Pair> {
        if !rustix::process::geteuid().is_root() {
            skipped(test, "network namespaces need root");
            return None;
        }
        let pair = Pair(["a", "b"].map(|end| format!("fxnet{}{test}{end}", std::process::id())));
        if !pair.0.iter().all(|name| ip(&["netns", "add", name])) {
            skipped(test, "`ip netns add` is refused here");
            return None;
        }
        let [a, b] = &pair.0;
        assert!(ip(&["-n", a, "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", b]));
        for (name, interface, address) in [(a, "v0", "10.213.7.1/24"), (b, "v1", "10.213.7.2/24")] {
            assert!(ip(&["-n", name, "addr", "add", address, "dev", interface]));
            assert!(ip(&["-n", name, "link", "set", interface, "up"]) && ip(&["-n", name, "link", "set", "lo", "up"]));
        }
        Some(pair)
    }

    /// Runs a peak from one end to the other.
    fn command(&self, fenxi: &Fenxi, more: &[&str]) -> Command {
        let on = format!("b=ip netns exec {}", self.0[1]);
        let words = ["net", "peak", "--on", &on, "--listen", "10.213.7.2", "--for", "1s", "--json"];
        let inner = fenxi.command(&[&words[..], more].concat());
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[0]]).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// The last line of a peak.
    fn peak(&self, fenxi: &Fenxi, more: &[&str]) -> Value {
        let output = self.command(fenxi, more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap()
    }

    /// `tc` in the receiver's namespace.
    fn tc(&self, arguments: &[&str]) -> Output {
        Command::new("tc").args(["-n", &self.0[1]]).args(arguments).output().unwrap()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&["netns", "del", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip").args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn three_limits_are_named_and_the_peak_of_a_shaped_link_is_the_calculated_one() {
    let Some(pair) = Pair::new("a") else { return };
    let fenxi = Fenxi::new();
    let shaped =
        pair.tc(&["qdisc", "add", "dev", "v1", "root", "tbf", "rate", "20mbit", "burst", "16k", "latency", "50ms"]);
    if !shaped.status.success() {
        return skipped("net peak of a shaped link", &text(&shaped.stderr));
    }
    // 8,192 bytes are six segments of up to 1,448, each with 66 bytes of headers.
    let calculated = 20e6 / 8.0 / (8192.0 + 6.0 * 66.0);
    let peak = pair.peak(&fenxi, &["--mix", "60:8192", "-c", "8", "--link", "20"]);
    let reached = peak["peak"]["messages_per_s"].as_f64().unwrap();
    assert!((reached / calculated - 1.0).abs() < 0.02, "{reached} and {calculated}");
    assert_eq!(peak["limit"], "link", "{peak}");
    // tc's own counter, of all steps.
    let sent: Value = serde_json::from_slice(&pair.tc(&["-s", "-j", "qdisc", "show", "dev", "v1"]).stdout).unwrap();
    assert!(sent[0]["overlimits"].as_u64().unwrap() > 0, "{sent}");
    // A veth's driver knows no speed.
    let peak = pair.peak(&fenxi, &["--mix", "60:8192", "-c", "8"]);
    assert_eq!((&peak["limit"], &peak["peak"]["link"]), (&Value::from("path"), &Value::Null), "{peak}");
    assert!(pair.tc(&["qdisc", "del", "dev", "v1", "root"]).status.success());
    // 1 thread that takes 5 ms for each request.
    let held_up = ["--mix", "60:8192", "-c", "8", "--server-threads", "1", "--service", "5ms"];
    let peak = pair.peak(&fenxi, &held_up);
    let reached = peak["peak"]["messages_per_s"].as_f64().unwrap();
    assert!(peak["limit"] == "server-threads" && (100.0..=200.0).contains(&reached), "{peak}");
    // 1 thread that asks 8.
    let peak = pair.peak(&fenxi, &["--mix", "60:60", "-c", "64", "--threads", "1", "--server-threads", "8"]);
    assert_eq!(peak["limit"], "client-cpu", "{peak}");
    // Each is a run with its results.
    assert_eq!(fenxi.number("SELECT count(DISTINCT run) FROM result WHERE name = 'message_bits_per_s'"), 4.0);
    assert!(fenxi.ok(&["sql", "SELECT message FROM note"]).contains("the limit was the link"));
}

#[test]
fn a_mix_of_a_load_is_what_was_sent_and_can_be_replayed() {
    let (fenxi, server) = (Fenxi::new(), Stub::quick());
    let load =
        ["load", "run", &server.url(), "-w", "oltp_point_select", "--protocol", "simple", "-c", "2", "--rate", "100"];
    fenxi.ok(&[&load[..], &["--for", "3s", "--record", "--name", "loaded"]].concat());
    let file = fenxi.path().join("mix.toml");
    let file = file.to_str().unwrap();
    fenxi.ok(&["net", "mix", "loaded", "-o", file]);
    let [of_run, of_file] = ["loaded", file].map(|from| fenxi.ok(&["net", "mix", from, "--json"]));
    assert_eq!(of_run, of_file);
    let layers: Vec<Value> = of_run.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let layer = |name: &str| layers.iter().map(|line| &line["layer"]).find(|layer| layer["name"] == name).unwrap();
    let (messages, packets) = (layer("fenxi"), layer("lo"));
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    assert!((80.0..=105.0).contains(&number(messages, "out_per_s")), "{messages}");
    // 'Q', a length, the statement and a zero; the stub's answer is the same each time.
    let statement = number(messages, "out_bytes");
    assert!((30.0..80.0).contains(&statement), "{messages}");
    assert!(number(packets, "out_per_s") >= 2.0 * number(messages, "out_per_s") * 0.9, "{packets}");
    let replayed = fenxi.ok(&["net", "peak", "--mix", file, "--for", "0.3s", "-c", "2", "--json"]);
    let peak: Value = serde_json::from_str(replayed.lines().last().unwrap()).unwrap();
    assert_eq!(peak["messages"]["request_bytes"].as_f64().unwrap(), statement.round(), "{peak}");
    let share = number(&peak, "load_share_of_peak");
    assert!((share - number(messages, "out_per_s") / number(&peak["peak"], "messages_per_s")).abs() < 1e-6, "{peak}");
    // The mix of the replay is the mix.
    let again = fenxi.ok(&["net", "mix", "@1", "--json"]);
    assert!(again.contains(&format!("\"out_bytes\":{:?}", statement.round())), "{again}");
}

#[test]
fn datagrams_are_exchanged_too() {
    let fenxi = Fenxi::new();
    let shown = fenxi.ok(&["net", "peak", "--mix", "10:8192", "--udp", "--for", "0.3s", "-c", "2"]);
    assert!(shown.contains("24 B out, 8192 B in, UDP to 127.0.0.1 through lo"), "{shown}");
    assert!(fenxi.number("SELECT value FROM result WHERE name = 'throughput'") > 10.0);
}

#[test]
fn a_receiver_answers_no_one_without_the_key_and_ends_with_its_pipe() {
    let fenxi = Fenxi::new();
    let mut receiver = fenxi.command(&["net", "receiver"]);
    let mut receiver = receiver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (receiver.stdin.take().unwrap(), receiver.stdout.take().unwrap());
    let key: Vec<u8> = (0..16).collect();
    let order = serde_json::json!({"Order": {
        "key": key, "address": "127.0.0.1", "peer": "127.0.0.1", "port": 0, "threads": 1, "udp": false,
        "request": 4, "reply": 7, "service_us": 0,
    }})
    .to_string();
    to.write_all(&(order.len() as u32).to_be_bytes()).unwrap();
    to.write_all(order.as_bytes()).unwrap();
    let mut length = [0; 4];
    from.read_exact(&mut length).unwrap();
    let mut ports = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut ports).unwrap();
    let ports: Value = serde_json::from_slice(&ports).unwrap();
    let port = ports["Ports"][0].as_u64().unwrap() as u16;
    let ask = |key: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(key).unwrap();
        stream.write_all(b"abcd").unwrap();
        let mut reply = [0; 7];
        stream.read_exact(&mut reply)
    };
    assert!(ask(&key).is_ok());
    assert!(ask(&[7; 16]).is_err());
    drop(to);
    wait_for("the end of the receiver", || receiver.try_wait().unwrap().is_some_and(|status| status.success()));
}

#[test]
fn ctrl_c_ends_a_peak_and_keeps_what_was_measured() {
    let fenxi = Fenxi::new();
    let child = fenxi
        .command(&["net", "peak", "--mix", "60:60", "--for", "1s", "-c", "256"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    fenxi.wait_until_recording();
    std::thread::sleep(Duration::from_millis(2500));
    signal(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(shown.contains("limit") || said.contains("interrupted"), "{output:?}");
}

#[test]
fn what_cannot_be_replayed_is_refused_with_the_way_out() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--for", "0.2s", "--source", "net,tcp", "--name", "idle"]);
    let file = fenxi.path().join("wrong.toml");
    fs::write(&file, "[[layer]]\nwhat = 1\n").unwrap();
    let refused = |code, mix: &str, more: &[&str]| fenxi.fails(code, &[&["net", "peak", "--mix", mix], more].concat());
    assert!(refused(1, "idle", &[]).contains("--mix 60:8192") || refused(1, "idle", &[]).contains("nothing was sent"));
    assert!(refused(1, file.to_str().unwrap(), &[]).contains("unknown field `what`"));
    assert!(refused(1, "60:1gb", &[]).contains("up to 16777216 bytes"));
    assert!(refused(1, "60:100000", &["--udp"]).contains("up to 65507 bytes"));
    assert!(refused(1, "60:60", &["--listen", "192.0.2.77"]).contains("192.0.2.77"));
    assert!(refused(1, "60:60", &["--on", "b=sh -c x"]).contains("--listen"));
    assert!(refused(2, "60:60", &["--listen", "there"]).contains("an IP address"));
    assert!(refused(2, "60:60", &["-c", "0"]).contains("1..=10000"));
    assert!(fenxi.fails(1, &["net", "mix", "/nothing/there"]).contains("/nothing/there"));
}
