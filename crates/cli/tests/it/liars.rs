//! Database servers that lie, under `fenxi record --db`: the recorder stays small, keeps what it recorded of the machine,
//! reports what is not seen, and ends in time.

use std::{
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
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
    assert!(told >= 1.0, "{what}: nothing was reported");
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

/// Actions of an agent a second after it was taken for one; it runs in the folder of `word`, which shows that it lives.
const LIES_OF_AGENTS: &[&str] = &[
    "exec sleep 60",
    "while :; do cat word; done",
    "while :; do cat word; sleep 0.05; done",
    "trap '' TERM HUP; while :; do cat word; sleep 0.1; done",
    "cat /dev/zero",
    "printf '\\377\\377\\377\\177R'; cat /dev/zero",
    "printf '\\377\\377\\000\\000R'; while :; do printf x; sleep 0.2; done",
    "printf '\\001\\000\\000\\000Xx'; exec sleep 60",
    "printf '\\020\\000\\000\\000J{'",
    "yes x >&2",
];

/// The way to a host whose agent lies; `dir` gets what it prints.
fn lying_host(fenxi: &Fenxi, dir: &Path, number: usize) -> String {
    if !dir.join("hello").exists() {
        let agent = fenxi.command(&["agent"]).stdout(Stdio::piped()).stderr(Stdio::null()).output().unwrap();
        let hello = text(&agent.stdout);
        fs_err::write(dir.join("hello"), hello.split_inclusive('\n').next().unwrap()).unwrap();
        let frame = |json: &str| [&(json.len() as u32).to_le_bytes()[..], b"J", json.as_bytes()].concat();
        fs_err::write(dir.join("ready"), frame("\"Ready\"")).unwrap();
        fs_err::write(dir.join("word"), frame("{\"Ping\":{\"asked\":7}}")).unwrap();
    }
    let script = format!("cd \"$1\"; cat hello ready; sleep 1; {}", LIES_OF_AGENTS[number % LIES_OF_AGENTS.len()]);
    fs_err::write(dir.join(format!("lie-{number}")), script).unwrap();
    // The shell that the recorder asks for is the last word.
    format!("h{number}=sh {0}/lie-{number} {0}", dir.display())
}

#[test]
fn liars_of_all_kinds_at_once_take_neither_memory_nor_time() {
    let liars = std::env::var("FENXI_LIARS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let dir = tempfile::tempdir().unwrap();
    let mut of_databases = [Speaks::Postgres, Speaks::Mysql]
        .into_iter()
        .flat_map(|speaks| [When::Login, When::Answer].map(|when| (speaks, when)))
        .flat_map(|(speaks, when)| LIES.map(|lie| (speaks, when, lie)))
        .cycle();
    let (mut most, mut longest, mut told) = (0, 0.0_f64, 0);
    for number in (0..liars).step_by(10) {
        let fenxi = Fenxi::new();
        let n = (liars - number).min(10);
        let hosts: Vec<_> = (number..number + n / 2).map(|number| lying_host(&fenxi, dir.path(), number)).collect();
        let urls: Vec<_> = of_databases.by_ref().take(n - n / 2).map(|(s, when, lie)| liar(s, when, lie)).collect();
        let mut args = vec!["--quiet", "record", "--for", "2s", "--interval", "200ms", "--source", "cpu"];
        args.extend(hosts.iter().flat_map(|on| ["--on", on]));
        args.extend(urls.iter().flat_map(|url| ["--db", url]));
        let mut child = fenxi.spawn(&args);
        let (mut peak, began) = (0, Instant::now());
        while child.try_wait().unwrap().is_none() {
            peak = peak.max(peak_kb(&child).unwrap_or(0));
            thread::sleep(Duration::from_millis(10));
            assert!(began.elapsed() < Duration::from_secs(60), "{number}: it does not end");
        }
        #[expect(clippy::disallowed_methods, reason = "compared with what the run has")]
        let ended = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{number}: {}", text(&output.stderr));
        let run = &fenxi.store().summaries().unwrap()[0];
        let late = ended - run.start.0 as f64 / 1e6 - FOR.as_secs_f64();
        assert!(peak < MOST_KB, "{number}: {peak} kB, {hosts:?} {urls:?}");
        assert!(late < GRACE.as_secs_f64(), "{number}: {late} s, {hosts:?} {urls:?}");
        assert!(fenxi.number("SELECT count(*) FROM cpu") >= 5.0, "{number}");
        assert!(fenxi.number("SELECT (SELECT count(*) FROM note) + (SELECT count(*) FROM event)") >= 1.0, "{number}");
        (most, longest, told) = (most.max(peak), longest.max(late), told + n);
    }
    eprintln!(
        "{told} liars: the recorder had {} MiB at most, and ended {longest:.2} s after its time at most",
        most >> 10
    );
}

#[test]
fn a_load_of_a_server_that_stays_silent_does_not_begin() {
    let url = liar(Speaks::Postgres, When::Answer, Lie::Silent);
    let (fenxi, began) = (Fenxi::new(), Instant::now());
    let said = fenxi.fails(1, &["load", "run", &url, "-w", "select_only", "--for", "1s"]);
    assert!(said.contains("no answer in 10 s") && began.elapsed() < Duration::from_secs(25), "{said}");
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
