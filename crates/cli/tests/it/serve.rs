//! `fenxi serve` as people start and end it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use fenxi_store::Store;
use rustix::process::Signal;

use crate::support::{Fenxi, signal, text};

/// Answer of a server on `address` (`http://127.0.0.1:4711/`) to a GET.
fn get(address: &str, target: &str) -> String {
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_server_says_where_it_is_logs_each_request_and_ends_with_ctrl_c() {
    let fenxi = Fenxi::new();
    let mut child = fenxi.spawn(&["serve", "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"]);
    let mut addresses = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || addresses.next().unwrap().unwrap();
    let (first, second) = (next(), next());
    assert_ne!(first, second);
    for address in [&first, &second] {
        assert!(get(address, "/api/v1/about").starts_with("HTTP/1.1 200 "), "{address}");
    }
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let log = text(&output.stderr);
    assert_eq!(log.matches(" GET /api/v1/about 200 ").count(), 2, "{log}");
}

#[test]
fn what_would_let_everybody_in_is_refused_with_the_way_out() {
    let fenxi = Fenxi::new();
    let said = fenxi.fails(1, &["serve", "--listen", "0.0.0.0:0"]);
    assert!(said.contains("--token-file") && said.contains("--client-ca"), "{said}");
    let token = fenxi.path().with_file_name("token");
    fs_err::write(&token, "0123456789abcdef0123\n").unwrap();
    let token = token.to_str().unwrap();
    std::process::Command::new("chmod").args(["644", token]).status().unwrap();
    let said = fenxi.fails(1, &["serve", "--listen", "0.0.0.0:0", "--token-file", token]);
    assert!(said.contains("chmod 600"), "{said}");
    fenxi.fails(2, &["serve", "--tls-cert", "cert.pem"]);
    fenxi.fails(2, &["serve", "--memory", "much"]);
}

#[test]
fn a_check_says_what_would_be_open_to_whom_and_serves_nothing() {
    let fenxi = Fenxi::new();
    let free = ["serve", "--check", "--json", "--listen", "127.0.0.1:0"];
    let found = |args: &[&str]| -> serde_json::Value { serde_json::from_str(&fenxi.ok(args)).unwrap() };
    let new = found(&free);
    assert_eq!((&new["could_serve"], &new["may"]["import"]), (&true.into(), &"everybody on this machine".into()));
    assert!(!fenxi.path().exists(), "a check makes no store");
    Store::open_or_create(fenxi.path()).unwrap();
    let there = found(&free);
    let confined = there["store"]["statements_confined_by"].as_array().unwrap();
    assert!(confined.iter().any(|by| by == "seccomp"), "{there}");
    assert_eq!(there["limits"]["import_time_s"], 300.0);
    let read_only = found(&[&free[..], &["--read-only"]].concat());
    assert_eq!(read_only["may"]["delete_runs"], "no one (--read-only)");
    assert_eq!(read_only["may"]["ask_sql"], "everybody on this machine");
    // The reasons that keep it from serving are reported, all of them.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let refused = fenxi.run(&["serve", "--check", "--listen", &taken, "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stdout);
    for part in [&*format!("problem: cannot listen on {taken}"), "--token-file", "it could not serve"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let refused = fenxi.run(&["serve", "--check", "--listen", "127.0.0.1:0", "--token-file", "/nowhere/token"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stdout).contains("/nowhere/token"), "{}", text(&refused.stdout));
}

#[test]
fn a_token_is_made_listed_and_removed_and_a_server_at_work_knows_at_once() {
    let fenxi = Fenxi::new();
    let file = fenxi.path().with_file_name("tokens");
    let file = file.to_str().unwrap();
    let token = |args: &[&str]| fenxi.run(&[&["serve", "token"], args, &["--token-file", file]].concat());
    let made = token(&["add", "ann", "--role", "writer", "--project", "shop", "--project", "bank"]);
    let (secret, message) = (text(&made.stdout), text(&made.stderr));
    let secret = secret.trim();
    assert!(made.status.success() && secret.len() == 64 && message.contains("writer of bank, shop"), "{message}");
    let admin = text(&token(&["add", "ada", "--role", "admin"]).stdout);
    let kept = fs_err::read_to_string(file).unwrap();
    assert!(!kept.contains(secret) && kept.lines().count() == 2, "{kept}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs_err::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let listed: serde_json::Value = serde_json::from_slice(&token(&["list", "--json"]).stdout).unwrap();
    assert_eq!(listed[0], serde_json::json!({ "name": "ann", "role": "writer", "projects": ["bank", "shop"] }));
    assert_eq!(text(&token(&["list"]).stdout), "ann  writer of bank, shop\nada  admin of all projects\n");
    for wrong in [
        &["add", "ann"][..],
        &["add", "a b"],
        &["add", "x", "--role", "admin", "--project", "p"],
        &["add", "x", "--project", "a,b"],
        &["remove", "bob"],
    ] {
        assert_eq!(token(wrong).status.code(), Some(1), "{wrong:?}");
    }
    let mut child = fenxi.spawn(&["serve", "--listen", "127.0.0.1:0", "--token-file", file]);
    let address = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let status = |secret: &str| {
        let host = address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host).unwrap();
        let bearer = format!("Authorization: Bearer {}", secret.trim());
        write!(stream, "GET /api/v1/runs HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!((status(secret), status(&admin)), ("200".to_owned(), "200".to_owned()));
    assert!(token(&["remove", "ann"]).status.success());
    assert_eq!((status(secret), status(&admin)), ("401".to_owned(), "200".to_owned()));
    signal(&child, Signal::INT);
    let log = text(&child.wait_with_output().unwrap().stderr);
    assert!(log.contains(" ann\n") && !log.contains(secret) && !log.contains(admin.trim()), "{log}");
}
