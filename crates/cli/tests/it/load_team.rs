//! One load made by several processes, against a server that counts for itself.

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    process::{Child, Stdio},
    time::Duration,
};

use fs_err as fs;
use rustix::process::Signal;

use crate::{
    stub::Stub,
    support::{Fenxi, signal, text, wait_for},
};

/// A worker on loopback, ended with the value.
struct Worker {
    child: Child,
    address: String,
}

impl Worker {
    fn start(fenxi: &Fenxi, more: &[&str]) -> Worker {
        let mut command = fenxi.command(&["load", "worker", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        Worker { child, address: address.trim().to_owned() }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Arguments of every load here: two seconds at 200 per second over 8 connections.
fn arguments<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let load = ["load", "run", url, "-w", "oltp_point_select", "--protocol", "simple", "-c", "8", "--rate", "200"];
    load.iter().chain(more).copied().collect()
}

fn words(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

/// The transactions that a server was asked for, in order of their text.
fn asked(server: &Stub) -> Vec<String> {
    let mut all: Vec<_> = server.seen().into_iter().map(|(_, text)| text).filter(|t| t.contains("WHERE id")).collect();
    all.sort();
    all
}

fn total(output: &str) -> serde_json::Value {
    serde_json::from_str::<serde_json::Value>(output.lines().last().unwrap()).unwrap()["total"].clone()
}

fn result(total: &serde_json::Value, name: &str) -> f64 {
    let all = total["results"].as_array().unwrap();
    all.iter().find(|r| r["name"] == name).unwrap()["value"].as_f64().unwrap()
}

#[test]
fn several_processes_make_the_load_that_one_makes() {
    let fenxi = Fenxi::new();
    let alone = Stub::quick();
    fenxi.ok(&arguments(&alone.url(), &["--for", "2s", "--json"]));
    let expected = asked(&alone);
    assert_eq!(expected.len(), 400);
    let workers = [Worker::start(&fenxi, &[]), Worker::start(&fenxi, &[])];
    let places = workers.each_ref().map(|w| w.address.clone()).join(",");
    for team in [["--workers", places.as_str()], ["--processes", "3"]] {
        let server = Stub::quick();
        let output = fenxi.ok(&arguments(&server.url(), &["--for", "2s", "--json", team[0], team[1]]));
        // The same transactions, from whichever process.
        assert!(asked(&server) == expected, "{team:?}: {} of {}", asked(&server).len(), expected.len());
        let total = total(&output);
        let done = result(&total, "transactions");
        // Those that ended after the last interval are counted by the server only.
        assert!((392.0..=400.0).contains(&done), "{team:?}: {done}");
        assert_eq!((result(&total, "offered_per_s"), result(&total, "clients")), (200.0, 8.0));
        assert_eq!(output.lines().count(), 3, "{output}");
        // The worst latency of all of them, and none averaged away.
        let of = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let worst = |v: &serde_json::Value| v["latency"]["max_ms"].as_f64().unwrap();
        let intervals = output.lines().take(2).map(|line| worst(&of(line)["interval"]));
        assert_eq!(intervals.fold(0.0, f64::max), worst(&total["summary"]));
        assert!(result(&total, "client_cpu_per_transaction") > 0.0);
    }
}

#[test]
fn a_worker_that_dies_is_said_and_the_others_go_on_unless_that_ends_the_test() {
    let fenxi = Fenxi::new();
    for stop in [false, true] {
        let server = Stub::quick();
        let (mut first, second) = (Worker::start(&fenxi, &[]), Worker::start(&fenxi, &[]));
        let places = format!("{},{}", first.address, second.address);
        let url = server.url();
        let more = ["--for", "4s", "--json", "--workers", &places, "--stop", "worker"];
        let load = fenxi.spawn(&arguments(&url, if stop { &more } else { &more[..5] }));
        wait_for("transactions", || asked(&server).len() > 150);
        first.child.kill().unwrap();
        let output = load.wait_with_output().unwrap();
        let (said, total) = (text(&output.stderr), total(&text(&output.stdout)));
        let name = &first.address;
        assert_eq!(total["errors"]["worker"]["count"], 1, "{total}");
        assert!(said.contains(&format!("the figures are incomplete: worker {name}: it disconnected after")), "{said}");
        // Figures from which a share is missing are no success.
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(total["stopped"].is_string(), stop, "{total}");
        if !stop {
            // Half of the load from then on.
            let done = asked(&server).len();
            assert!((450..700).contains(&done), "{done}");
            assert_eq!(total["summary"]["end_s"], 4.0);
        }
    }
}

#[test]
fn a_worker_takes_orders_from_whom_it_should_and_from_one_at_a_time() {
    let fenxi = Fenxi::new();
    let file = |name: &str, token: &str| {
        let path = fenxi.path().with_file_name(name);
        fs::write(&path, token).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (file("right", "ann 0123456789abcdef\n"), file("wrong", "0123456789abcdeX\n"));
    let worker = Worker::start(&fenxi, &["--token-file", &right]);
    let server = Stub::quick();
    let url = server.url();
    let with = |more: &[&'static str], token: &str| {
        let mut all = vec!["--workers", &worker.address];
        if !token.is_empty() {
            all.extend(["--token-file", token]);
        }
        all.extend(more);
        arguments(&url, &all).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for token in ["", wrong.as_str()] {
        let said = fenxi.fails(1, &words(&with(&["--for", "1s"], token)));
        assert!(said.contains("this is not its token"), "{said}");
    }
    let all = with(&["--for", "20s"], &right);
    let load = fenxi.spawn(&words(&all));
    wait_for("transactions", || asked(&server).len() > 10);
    assert!(fenxi.fails(1, &words(&all)).contains("it is busy with another coordinator"));
    // Ctrl-C ends the load everywhere, with its summary, and the worker is free again.
    signal(&load, Signal::INT);
    let output = load.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("SQL statistics") && text(&output.stderr).contains("it was interrupted"));
    let count = asked(&server).len();
    fenxi.ok(&words(&with(&["--for", "1s"], &right)));
    assert_eq!(asked(&server).len(), count + 200);
    let open = fenxi.fails(1, &["load", "worker", "--listen", "0.0.0.0:0"]);
    assert!(open.contains("--token-file"), "{open}");
}

#[test]
fn what_a_worker_cannot_do_ends_the_load_before_it_begins() {
    let fenxi = Fenxi::new();
    let server = Stub::quick();
    let url = server.url();
    let said = fenxi.fails(1, &arguments(&url, &["--workers", "127.0.0.1:1"]));
    assert!(said.contains("worker 127.0.0.1:1: ") && said.contains("fenxi load worker"), "{said}");
    let said = fenxi.fails(1, &arguments(&url, &["--processes", "9"]));
    assert!(said.contains("at least one connection each"), "{said}");
    let said = fenxi.fails(1, &arguments(&url, &["--processes", "2", "--pin", "1000"]));
    assert!(said.contains("CPU 1000 is not available to this process"), "{said}");
    // Whatever speaks at a worker's port.
    let worker = Worker::start(&fenxi, &[]);
    let mut stream = std::net::TcpStream::connect(&worker.address).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
    fenxi.ok(&arguments(&url, &["--for", "1s", "--workers", &worker.address]));
}

#[test]
fn the_load_of_children_ends_with_their_parent() {
    let (fenxi, server) = (Fenxi::new(), Stub::quick());
    let url = server.url();
    let mut load = fenxi.spawn(&arguments(&url, &["--for", "60s", "--processes", "2"]));
    wait_for("transactions", || asked(&server).len() > 10);
    // Without a chance to say anything.
    load.kill().unwrap();
    load.wait().unwrap();
    wait_for("silence", || {
        let before = asked(&server).len();
        std::thread::sleep(Duration::from_millis(300));
        asked(&server).len() == before
    });
}
