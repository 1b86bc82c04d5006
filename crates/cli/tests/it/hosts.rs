//! `fenxi record --on`: several hosts in one run, and what becomes of it when one of them, or the recorder, fails. The hosts are
//! this machine, reached by commands; clocks are set wrong by the agents' variable.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Fenxi, signal, skipped, text, wait_for};

/// A transport that leaves its process ID, which becomes the agent's, in a file.
fn with_pid(name: &str, file: &Path) -> String {
    format!("{name}=sh -c 'echo $$ >>{}; exec \"$@\"' sh", file.display())
}

/// The process IDs in a file: one for each connection.
fn pids(file: &Path) -> Vec<Pid> {
    let text = fs_err::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw).collect()
}

fn is_there(pid: Pid) -> bool {
    let status = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Bytes of the open run in which rows of the table are.
fn streamed(fenxi: &Fenxi, table: &str) -> u64 {
    let files = crate::support::walk(&fenxi.path().join("open"));
    let of = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{table}."));
    files.iter().filter(|path| of(path)).map(|path| path.metadata().map_or(0, |m| m.len())).sum()
}

/// Waits until something is recorded of the other host.
fn wait_for_agent(fenxi: &Fenxi) {
    wait_for("rows of an agent", || streamed(fenxi, "agent") > 0);
}

fn end(child: Child) -> String {
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

fn events(fenxi: &Fenxi) -> Vec<String> {
    let rows = fenxi.sql("select kind from event where kind like 'host %' order by t");
    rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn hosts_with_wrong_clocks_are_one_run_on_one_clock() {
    let fenxi = Fenxi::new();
    let common = "fenxi-test: seen by all";
    let child = fenxi.spawn(&[
        "record",
        "--interval",
        "200ms",
        "--on",
        "b=env FENXI_AGENT_CLOCK=3,200",
        "--on",
        "c=env FENXI_AGENT_CLOCK=-3",
        "--source",
        "log,mem,c:+cpu",
    ]);
    wait_for_agent(&fenxi);
    let told = fs_err::OpenOptions::new().write(true).open("/dev/kmsg").and_then(|mut log| writeln!(log, "{common}"));
    let before = streamed(&fenxi, "agent");
    wait_for("some more samples", || streamed(&fenxi, "agent") > before + 8000);
    end(child);
    let hosts =
        fenxi.sql("select host, count(*) as n, min(t) as begun, max(t) as ended from mem group by host order by host");
    let of = |name: &str| hosts.iter().find(|row| row["host"] == name).unwrap()["n"].as_f64().unwrap();
    assert_eq!(hosts.len(), 3, "{hosts:?}");
    assert!(of("b") >= 3.0 && of("c") >= 3.0, "{hosts:?}");
    // The same moments, however wrong the clocks: each sample lies near one of the recorder's.
    let apart = "select quantile_cont(apart, 0.5) as a from (select min(abs(epoch(a.t) - epoch(b.t))) as apart from mem a, mem b \
                 where a.host in ('b', 'c') and b.host not in ('b', 'c') group by a.host, a.t)";
    assert!(fenxi.number(apart) < 0.03, "{}", fenxi.number(apart));
    let offset =
        |host: &str| fenxi.number(&format!("select median(clock_offset_s) as o from agent where host = '{host}'"));
    assert!((offset("b") - 3.0).abs() < 0.02 && (offset("c") + 3.0).abs() < 0.02, "{} {}", offset("b"), offset("c"));
    assert!(fenxi.number("select max(clock_uncertainty_s) as u from agent") < 0.1);
    // A list of one host is its own.
    assert_eq!(fenxi.sql("select distinct host from cpu"), [serde_json::json!({ "host": "c" })]);
    let found = fenxi.ok(&["findings", "@1", "--json"]);
    assert!(found.contains("host-clock-wrong"), "{found}");
    match told {
        Ok(()) => {
            let seen = format!(
                "select epoch(max(t)) - epoch(min(t)) as s, count(*) as n from event where message like '%{common}%'"
            );
            let seen = &fenxi.sql(&seen)[0];
            assert_eq!(seen["n"], 3, "{seen}");
            assert!(seen["s"].as_f64().unwrap() < 0.005, "{seen}");
        }
        Err(error) => skipped(
            "hosts_with_wrong_clocks_are_one_run_on_one_clock",
            &format!("no line for the kernel's log: {error}"),
        ),
    }
}

#[test]
fn an_agent_that_is_killed_costs_its_own_rows_and_comes_back() {
    let fenxi = Fenxi::new();
    let file = fenxi.path().with_file_name("pids");
    let on = with_pid("b", &file);
    let child = fenxi.spawn(&["record", "--interval", "100ms", "--source", "mem", "--on", &on]);
    wait_for_agent(&fenxi);
    kill_process(pids(&file)[0], Signal::KILL).unwrap();
    wait_for("a second agent", || pids(&file).len() == 2);
    let before = streamed(&fenxi, "agent");
    wait_for("rows of the second agent", || streamed(&fenxi, "agent") > before);
    end(child);
    assert_eq!(events(&fenxi), ["host lost", "host back"]);
    let said = &fenxi.sql("select message from event where kind = 'host lost'")[0]["message"];
    assert!(said.as_str().unwrap().contains("signal: 9"), "{said}");
    let rows = fenxi.number("select count(*) as n from mem where host = 'b'");
    let ours = fenxi.number("select count(*) as n from mem where host <> 'b'");
    assert!(rows >= 2.0 && ours > rows, "{rows} of {ours}");
    assert!(!is_there(pids(&file)[1]), "the agent ends with the recording");
    assert!(fenxi.ok(&["findings", "@1", "--json"]).contains("host-lost"));
}

#[test]
fn an_agent_that_stands_still_is_missed_and_then_says_what_it_can() {
    let fenxi = Fenxi::new();
    let file = fenxi.path().with_file_name("pids");
    let on = with_pid("b", &file);
    let child = fenxi.spawn(&["record", "--interval", "100ms", "--source", "mem", "--on", &on]);
    wait_for_agent(&fenxi);
    let agent = pids(&file)[0];
    kill_process(agent, Signal::STOP).unwrap();
    wait_for("an event", || streamed(&fenxi, "event") > 0);
    kill_process(agent, Signal::CONT).unwrap();
    let before = streamed(&fenxi, "agent");
    wait_for("rows again", || streamed(&fenxi, "agent") > before + 3000);
    end(child);
    assert_eq!(pids(&file).len(), 1, "the same agent");
    let all = events(&fenxi);
    assert_eq!(all, ["host lost", "host back"]);
    // Ticks that it did not sample are reported, and the interval has its length.
    assert!(fenxi.number("select max(dt) as m from mem where host = 'b'") > 4.0);
    assert!(fenxi.number("select count(*) as n from event where kind = 'missed tick' and host = 'b'") >= 1.0);
}

#[test]
fn agents_end_with_a_recorder_that_is_killed_and_what_came_is_kept() {
    let fenxi = Fenxi::new();
    let file = fenxi.path().with_file_name("pids");
    let on = with_pid("b", &file);
    let mut child = fenxi.spawn(&["record", "--interval", "50ms", "--source", "mem", "--on", &on]);
    wait_for_agent(&fenxi);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let agent = pids(&file)[0];
    wait_for("the agent to end", || !is_there(agent));
    assert!(fenxi.ok(&["runs", "--json"]).contains("\"recovered\":true"));
    assert!(fenxi.number("select count(*) as n from mem where host = 'b'") >= 1.0);
}

#[test]
fn hosts_that_cannot_be_reached_are_told_before_anything_is_recorded() {
    let fenxi = Fenxi::new();
    let fails = |on: &[&str]| {
        let mut args = vec!["record", "--for", "1s"];
        args.extend(on);
        fenxi.fails(1, &args)
    };
    let said = fails(&["--on", "b=sh -c 'echo no such host >&2; exit 255'", "--on", "c=env A=b"]);
    assert!(said.contains("host b: the transport ended: exit status: 255: no such host"), "{said}");
    assert!(!said.contains("host c"), "{said}");
    assert!(fails(&["--on", "b=/no/such/transport at all"]).contains("host b: cannot run `/no/such/transport`"));
    assert!(fails(&["--on", "b=env", "--on", "b=env A=b"]).contains("two hosts are called b"));
    let said = fails(&["--on", "b=env A=b", "--source", "b:nothing"]);
    assert!(said.contains("host b: no source is called `nothing`"), "{said}");
    assert_eq!(fenxi.ok(&["runs", "--json"]).trim(), "", "nothing was recorded");
    // Wanted all the same.
    let partial = [
        "record",
        "--for",
        "300ms",
        "--interval",
        "100ms",
        "--source",
        "mem",
        "--partial",
        "--on",
        "b=sh -c 'exit 3' x",
    ];
    let output = fenxi.run(&partial);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("not recorded yet: host b"), "{}", text(&output.stderr));
    assert!(fenxi.number("select count(*) as n from note where message like '%exit status: 3%'") >= 1.0);
}

#[test]
fn the_program_is_sent_where_there_is_none_and_kept_there() {
    const NAME: &str = "the_program_is_sent_where_there_is_none_and_kept_there";
    let fenxi = Fenxi::new();
    let dir = fenxi.path().with_file_name("there");
    fs_err::create_dir_all(dir.join("empty")).unwrap();
    let own = Path::new(env!("CARGO_BIN_EXE_fenxi"));
    let program = dir.join("fenxi-agent-program");
    // Less to send, where there is strip.
    let strip = std::process::Command::new("strip").arg("-o").arg(&program).arg(own).status();
    if !strip.is_ok_and(|status| status.success()) {
        fs_err::copy(own, &program).unwrap();
    }
    let hide = format!("mount --bind {} {}", dir.join("empty").display(), own.parent().unwrap().display());
    let can = std::process::Command::new("unshare").args(["--mount", "sh", "-c", &hide]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        return skipped(NAME, "nothing can be mounted here");
    }
    let cache = dir.join("cache");
    let on = format!("b=env XDG_CACHE_HOME={} unshare --mount sh -c '{hide} && exec \"$@\"' sh", cache.display());
    let record = ["record", "--for", "500ms", "--interval", "100ms", "--source", "mem", "--on", &on, "--agent-binary"];
    let record: Vec<&str> = record.into_iter().chain([program.to_str().unwrap()]).collect();
    let output = fenxi.run(&record);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("b: sends the program"), "{}", text(&output.stderr));
    assert!(fenxi.number("select count(*) as n from mem where host = 'b'") >= 1.0);
    let kept = crate::support::walk(&cache);
    assert_eq!(kept.len(), 1, "{kept:?}");
    // It is there now, and damaged it is not taken.
    let second = text(&fenxi.run(&record).stderr);
    assert!(!second.contains("sends the program"), "{second}");
    fs_err::OpenOptions::new().append(true).open(&kept[0]).unwrap().write_all(b"x").unwrap();
    let third = text(&fenxi.run(&record).stderr);
    assert!(third.contains("sends the program"), "{third}");
    // Who has no place of his own leaves nothing.
    let nowhere = on.replace(
        &format!("XDG_CACHE_HOME={}", cache.display()),
        &format!("-u HOME -u XDG_CACHE_HOME TMPDIR={}", dir.display()),
    );
    let record: Vec<&str> = record.iter().map(|word| if *word == on { nowhere.as_str() } else { word }).collect();
    let output = fenxi.run(&record);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut left: Vec<_> = fs_err::read_dir(&dir).unwrap().flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["cache", "empty", "fenxi-agent-program"]);
}

#[test]
fn what_waits_for_a_slow_link_is_kept_and_follows() {
    let fenxi = Fenxi::new();
    let file = fenxi.path().with_file_name("pids");
    // The agent's output goes through a process that is stopped for a while.
    let on = format!("b=sh -c '\"$@\" | sh -c \"echo \\$\\$ >{}; exec cat\"' sh", file.display());
    let child = fenxi.spawn(&["record", "--interval", "50ms", "--on", &on, "--source", "mem,b:+process,b:+thread"]);
    wait_for_agent(&fenxi);
    let relay = pids(&file)[0];
    kill_process(relay, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    kill_process(relay, Signal::CONT).unwrap();
    let before = streamed(&fenxi, "agent");
    wait_for("what waited", || streamed(&fenxi, "agent") > before + 20_000);
    end(child);
    // No interval is missing: those of the host add up to its time.
    let gaps = "select max(gap) as g from (select epoch(t) - epoch(lag(t) over (order by t)) - dt as gap from mem where host = 'b')";
    assert!(fenxi.number(gaps) < 0.05, "{}", fenxi.number(gaps));
}

#[test]
fn hosts_that_do_not_end_hold_up_the_end_of_a_recording_less_than_two_seconds() {
    let fenxi = Fenxi::new();
    let file = fenxi.path().with_file_name("pids");
    // One is suspended; one has sent everything, and goes on whatever signal it gets.
    let still = with_pid("b", &file);
    let stays = "c=sh -c 'trap \"\" TERM; \"$@\"; while :; do echo; sleep 0.1; done' sh";
    let child = fenxi.spawn(&["record", "--interval", "100ms", "--source", "mem", "--on", &still, "--on", stays]);
    wait_for_agent(&fenxi);
    kill_process(pids(&file)[0], Signal::STOP).unwrap();
    let began = Instant::now();
    end(child);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let late = fenxi.sql("select file from note where message like '%did not arrive in time'");
    assert_eq!(late, [serde_json::json!({ "file": "b" })]);
    assert!(fenxi.number("select count(*) as n from mem where host = 'c'") >= 1.0);
}

#[test]
fn each_run_of_a_rolled_recording_has_the_facts_of_all_hosts() {
    let fenxi = Fenxi::new();
    let conf = fenxi.path().with_extension("conf");
    let options = "roll 1s\ninterval 100ms\nsource mem,facts\nname night\non b=env A=b\nrole server=b\n";
    fs_err::write(&conf, options).unwrap();
    let child = fenxi.spawn(&["record", "--config", conf.to_str().unwrap()]);
    fenxi.wait_until_recording();
    let runs = || fenxi.store().ids().unwrap().len();
    wait_for("two runs", || runs() >= 2);
    // Options that cannot be read leave the agents at work; those that can connect to them anew.
    fs_err::write(&conf, "interwal 1s\n").unwrap();
    signal(&child, Signal::HUP);
    let before = runs();
    wait_for("runs after a vain reload", || runs() >= before + 3);
    fs_err::write(&conf, options.replace("mem,", "mem,vm,")).unwrap();
    signal(&child, Signal::HUP);
    let before = runs();
    wait_for("runs after a reload", || runs() >= before + 3);
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fenxi.number("select count(*) as n from event where kind = 'not reloaded'"), 1.0);
    let all = runs() as f64;
    let of = |table: &str, what: &str| {
        fenxi.number(&format!("select count(distinct run) as n from {table} where host = 'b' {what}"))
    };
    assert_eq!(of("text", "and topic = 'host' and name = 'role' and value = 'server'"), all);
    // The facts of a run that was very short may have come after its end.
    let (told, sampled) = (of("text", "and topic = 'kernel' and name = 'release'"), of("mem", ""));
    assert!(told >= all - 3.0 && sampled >= all - 3.0, "{told} and {sampled} of {all}");
    assert_eq!(events(&fenxi), [""; 0]);
}

#[test]
fn hosts_of_one_role_are_compared_with_each_other() {
    let fenxi = Fenxi::new();
    let record = ["record", "--for", "1s", "--interval", "100ms", "--source", "mem,cpu,facts"];
    let hosts = ["--on", "b=env A=b", "--on", "c=env A=c", "--on", "d=env A=d"];
    let roles = ["--role", "server=b,c", "--role", "client=d", "--fact", "b:build=a1"];
    let said = fenxi.fails(1, &[&record[..], &["--role", "server=b"]].concat());
    assert!(said.contains("no host is called b"), "{said}");
    let said = fenxi.fails(1, &[&record[..], &hosts[..], &["--role", "server=b", "--role", "client=b"]].concat());
    assert!(said.contains("b has the role server"), "{said}");
    fenxi.ok(&[&record[..], &hosts[..], &roles[..]].concat());
    let rows = fenxi.sql("select host, name, value from text where topic in ('host', 'given') order by host, name");
    let of =
        |row: &serde_json::Value| ["host", "name", "value"].map(|key| row[key].as_str().unwrap().to_owned()).join(" ");
    let told: Vec<String> = rows.iter().map(of).collect();
    assert_eq!(told, ["b build a1", "b role server", "c role server", "d role client"]);
    let compared = fenxi.ok(&["ask", "hosts-compared", "--param", "least=0", "-o", "json"]);
    assert!(compared.contains("\"role\":\"server\"") && !compared.contains("\"role\":\"client\""), "{compared}");
    let facts = fenxi.ok(&["ask", "hosts-facts", "-o", "json"]);
    assert!(!facts.contains("\"topic\":\"kernel\""), "one machine is like itself: {facts}");
}
