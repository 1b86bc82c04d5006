//! `fenxi load`, against a server that answers at once. Real servers are in the tests of the crate `load`.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::{
    stub::{Answer, Stub},
    support::{Fenxi, signal, text, wait_for},
};

/// A server that has the tables, and answers what a workload asks.
fn server() -> Stub {
    Stub::quick()
}

#[test]
fn workloads_are_listed_with_their_options() {
    let fenxi = Fenxi::new();
    let all = fenxi.ok(&["load", "workloads"]);
    for name in ["oltp_read_write", "tpcb_like", "oltp_net"] {
        assert!(all.contains(name), "{all}");
    }
    assert!(fenxi.ok(&["load", "workloads", "oltp_net"]).contains("round_trips"));
    let options: serde_json::Value =
        serde_json::from_str(&fenxi.ok(&["load", "workloads", "tpcb_like", "--json"])).unwrap();
    assert_eq!(options["options"][1]["name"], "scale");
    assert!(fenxi.fails(1, &["load", "workloads", "nothing"]).contains("known are oltp_delete"));
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_counted() {
    let fenxi = Fenxi::new();
    let run = |url: &str, more: &[&str]| {
        let mut args = vec!["load", "run", url, "-w", "oltp_point_select"];
        args.extend(more);
        fenxi.fails(1, &args)
    };
    assert!(run("http://h/d", &[]).contains("`postgres://` and `mysql://`"));
    assert!(run("postgres://u@127.0.0.1:1/d", &[]).contains("refused"));
    assert!(
        run("postgres://u@127.0.0.1:1/d", &["--set", "x=1"]).contains("unknown option `x`; known are delete_inserts")
    );
    let url = server().url();
    assert!(run(&url, &["--retry", "deadlock"]).contains("unknown error class"));
    let empty = Stub::start(|_, _| Answer::Refuse("42P01"));
    assert!(run(&empty.url(), &[]).contains("no table sbtest1; make it with `fenxi load prepare`"));
    for wrong in [["--rate", "fast"], ["--jitter", "60%"], ["--for", "0s"]] {
        fenxi.fails(2, &["load", "run", &url, "-w", "oltp_point_select", "--rate", "1", wrong[0], wrong[1]]);
    }
}

#[test]
fn a_load_is_told_as_it_goes_and_kept_with_the_machine_as_a_run() {
    let (fenxi, server) = (Fenxi::new(), server());
    let url = server.url();
    let told = fenxi.ok(&[
        "load",
        "run",
        &url,
        "-w",
        "oltp_point_select",
        "--protocol",
        "simple",
        "-c",
        "4",
        "--rate",
        "200",
        "--for",
        "2s",
        "--json",
        "--record",
        "--tag",
        "kind=test",
    ]);
    let lines: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert_eq!(lines[0]["interval"]["offered_per_s"], 200.0);
    let total = &lines[2]["total"];
    let done = total["summary"]["transactions_per_s"].as_f64().unwrap();
    assert!((150.0..=205.0).contains(&done), "{total}");
    let kept = fenxi.number("SELECT value FROM result WHERE name = 'throughput'");
    assert!((kept - done).abs() < 1e-6, "{kept} {done}");
    assert_eq!(fenxi.number("SELECT count(*) FROM load WHERE generator = 'fenxi' AND offered_per_s = 200"), 2.0);
    let sum = fenxi.number("SELECT sum(count) FROM histogram WHERE name = 'latency_ms'");
    assert_eq!(
        sum,
        total["results"].as_array().unwrap().iter().find(|r| r["name"] == "transactions").unwrap()["value"]
    );
    assert!(fenxi.number("SELECT count(*) FROM cpu") > 0.0);
    assert!(fenxi.ok(&["runs", "kind=test", "workload=oltp_point_select"]).contains("oltp_point_select"));
}

#[test]
fn a_condition_comes_true_while_a_load_runs_and_everything_is_kept_all_the_same() {
    let (fenxi, server) = (Fenxi::new(), server());
    let url = server.url();
    let load = ["load", "run", &url, "-w", "oltp_point_select", "--protocol", "simple", "--rate", "50", "--for", "2s"];
    let when = ["--when", "sched.tasks > 0 for 0.5s", "--when", "sched.tasks > 1G", "--at-most", "1"];
    assert!(fenxi.fails(2, &[&load[..], &when].concat()).contains("--record"), "nothing is looked at without it");
    let recorded = [&load[..], &when, &["--record"]].concat();
    assert!(fenxi.fails(2, &[&recorded[..], &["--before", "1s"]].concat()).contains("--before"));
    let done = fenxi.run(&recorded);
    let told = text(&done.stderr);
    assert!(done.status.success() && told.contains("`sched.tasks > 0 for 0.5s` fired 1 time"), "{told}");
    assert!(told.contains("`sched.tasks > 1G`"), "{told}");
    assert_eq!(
        fenxi.number("SELECT count(*) FROM event WHERE kind = 'trigger'"),
        2.0,
        "one that fired, one that did not"
    );
    assert_eq!(fenxi.number("SELECT count(*) FROM load WHERE generator = 'fenxi'"), 2.0);
}

#[test]
fn prometheus_is_answered_meanwhile() {
    let (fenxi, server) = (Fenxi::new(), server());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (url, address) = (server.url(), format!("127.0.0.1:{port}"));
    let load = fenxi.spawn(&[
        "load",
        "run",
        &url,
        "-w",
        "oltp_point_select",
        "--protocol",
        "simple",
        "--interval",
        "100ms",
        "--for",
        "20s",
        "--prometheus",
        &address,
    ]);
    let asked = || -> Option<String> {
        let mut stream = TcpStream::connect(&address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    };
    wait_for("transactions in the answer", || {
        asked().is_some_and(|text| text.contains("fenxi_load_transactions_per_second"))
    });
    // Ctrl-C ends it at the next interval, with the summary.
    signal(&load, rustix::process::Signal::INT);
    let output = text(&load.wait_with_output().unwrap().stdout);
    assert!(output.contains("SQL statistics"), "{output}");
}
