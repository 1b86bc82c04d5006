//! Database servers that lie, under `fenxi record --db`: the recorder stays small, keeps what it recorded of the machine,
//! says what is not seen, and ends in time.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use crate::{
    liar::{LIES, Lie, Speaks, When, liar},
    support::{Fenxi, text},
};

/// How long is recorded, and how much longer it may take.
const FOR: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_secs(2);
/// The most memory of the recorder.
const MOST_KB: u64 = 100 << 10;

/// The most memory that a process had so far.
fn peak_kb(child: &Child) -> Option<u64> {
    let status = fs_err::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Records beside servers at these URLs.
fn record(what: &str, urls: &[String]) {
    let fenxi = Fenxi::new();
    let mut args = vec!["--quiet", "record", "--for", "2s", "--source", "cpu"];
    args.extend(urls.iter().flat_map(|url| ["--db", url]));
    let began = Instant::now();
    let mut child = fenxi.spawn(&args);
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_kb(&child).unwrap_or(0));
        thread::sleep(Duration::from_millis(10));
        assert!(began.elapsed() < Duration::from_secs(30), "{what}: it does not end");
    }
    let took = began.elapsed();
    let output = child.wait_with_output().unwrap();
    eprintln!("{what}: {:.2} s, {} MiB", took.as_secs_f64(), peak >> 10);
    assert!(output.status.success(), "{what}: {}", text(&output.stderr));
    assert!(took < FOR + GRACE, "{what}: {took:?}");
    assert!(peak < MOST_KB, "{what}: {peak} kB");
    assert!(fenxi.number("SELECT count(*) FROM cpu") >= 2.0, "{what}");
    let told = fenxi.number("SELECT (SELECT count(*) FROM note) + (SELECT count(*) FROM event)");
    assert!(told >= 1.0, "{what}: nothing was told");
}

fn each(speaks: Speaks, when: When) {
    for lie in LIES {
        record(&format!("{speaks:?} {when:?} {lie:?}"), &[liar(speaks, when, lie)]);
    }
}

#[test]
fn a_postgres_that_lies_when_it_is_logged_in_to_takes_neither_memory_nor_time() {
    each(Speaks::Postgres, When::Login);
}

#[test]
fn a_postgres_that_lies_in_its_answers_takes_neither_memory_nor_time() {
    each(Speaks::Postgres, When::Answer);
}

#[test]
fn a_mysql_that_lies_when_it_is_logged_in_to_takes_neither_memory_nor_time() {
    each(Speaks::Mysql, When::Login);
}

#[test]
fn a_mysql_that_lies_in_its_answers_takes_neither_memory_nor_time() {
    each(Speaks::Mysql, When::Answer);
}

#[test]
fn several_liars_at_once_hold_up_a_recording_no_longer_than_one() {
    let lies = [Lie::Silent, Lie::Drip, Lie::Slow, Lie::Cut, Lie::WrongType, Lie::HugeLength];
    let urls: Vec<_> = lies.map(|lie| liar(Speaks::Postgres, When::Answer, lie)).to_vec();
    record("six at once", &urls);
}

#[test]
fn a_password_is_in_no_list_of_processes_once_it_was_read() {
    let fenxi = Fenxi::new();
    let url = liar(Speaks::Postgres, When::Answer, Lie::Silent).replace("secret", "Zq9hunter");
    let with_key = format!("{url}?sslmode=prefer&password=Zq9hunter");
    for args in [
        &["record", "--for", "2s", "--source", "cpu", "--db", &url][..],
        &["record", "--for", "2s", "--source", "cpu", &format!("--db={with_key}")],
        &["db", "check", &with_key],
        &["load", "run", &url, "-w", "select_only", "--for", "1s"],
        &["serve", "--listen", "127.0.0.1:0", "--db", &url],
    ] {
        let mut child = fenxi.spawn(args);
        let path = format!("/proc/{}/cmdline", child.id());
        let read = || fs_err::read(&path).unwrap_or_default();
        let holds = |words: &[u8], text: &str| memchr::memmem::find(words, text.as_bytes()).is_some();
        crate::support::wait_for("the password to be hidden", || holds(&read(), "u:*********"));
        let words = read();
        assert!(!holds(&words, "hunter"), "{}", text(&words));
        // All other words are as they were.
        assert_eq!(words.split(|byte| *byte == 0).count(), args.len() + 2, "{}", text(&words));
        assert!(words.split(|byte| *byte == 0).zip(args).skip(1).all(|(word, _)| !word.is_empty()));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(!holds(&said, "hunter"), "{}", text(&said));
    }
}
