//! The log source over made-up files, and over the kernel that runs.

use super::{kernel, *};
use crate::testing::Machine;

fn logging(path: &str) -> Log {
    Log { file: Some(path.to_owned()), journal: Where::Nowhere }
}

#[test]
fn lines_written_meanwhile_are_events() {
    let machine = Machine::new();
    machine.put("/var/log/syslog", "Nov 22 10:11:11 db1 before: the recording\n");
    let mut session = machine.start(&logging("/var/log/syslog"));
    session.tick(None);
    let before = "Nov 22 10:11:11 db1 before: the recording\n";
    session.machine.put(
        "/var/log/syslog",
        format!("{before}Nov 22 10:11:12 db1 sshd[7]: hello\nno syslog\n\nNov 22 10:11:13 db1 cr"),
    );
    let seen = session.tick(1.0);
    assert_eq!(seen.events(), ["log sshd: hello", "log /var/log/syslog: no syslog"]);
    // A line is reported when it is whole; a file that was rotated is read from its beginning.
    session.machine.remove("/var/log/syslog");
    session.machine.put("/var/log/syslog", "Nov 22 10:11:14 db1 cron: job\n");
    assert_eq!(session.tick(1.0).events(), ["log cron: job"]);
    assert_eq!(session.tick(1.0).events(), [""; 0]);
}

#[test]
fn of_very_many_lines_the_first_are_kept() {
    let machine = Machine::new();
    machine.put("/var/log/syslog", "");
    let mut session = machine.start(&logging("/var/log/syslog"));
    session.tick(None);
    session.machine.put("/var/log/syslog", "Nov 22 10:11:12 db1 x: y\n".repeat(350));
    let events = session.tick(1.0).events();
    assert_eq!(events.len(), 101);
    assert_eq!(events[100], "log /var/log/syslog: 250 more lines of the file log are not kept: there are too many");
}

#[test]
fn each_run_has_room_for_lines_of_its_own() {
    let machine = Machine::new();
    machine.put("/var/log/syslog", "");
    let mut collector = logging("/var/log/syslog").start(&machine.root()).unwrap();
    let reported = |collector: &mut Box<dyn Collector>, lines: usize| {
        machine.put("/var/log/syslog", "");
        collector.sample(Tick::new(Micros(0), Some(1.0)), &mut Rows::new("test")).unwrap();
        machine.put("/var/log/syslog", "Nov 22 10:11:12 db1 x: y\n".repeat(lines));
        let mut rows = Rows::new("test");
        collector.sample(Tick::new(Micros(0), Some(1.0)), &mut rows).unwrap();
        crate::testing::Observed::of(rows).events().iter().filter(|event| *event == "log x: y").count()
    };
    let all: usize = (0..101).map(|_| reported(&mut collector, 100)).sum();
    assert_eq!(all, MOST_OF_ALL as usize);
    collector.begin_next(Micros(0), &mut Rows::new("test"));
    assert_eq!(reported(&mut collector, 3), 3);
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let Err(error) = Machine::new().try_start(&logging("/var/log/none")) else { panic!("it started") };
    assert!(error.to_string().contains("/var/log/none"), "{error}");
    let Err(error) = Machine::new().try_start(&SOURCE) else { panic!("it started") };
    assert_eq!(error.to_string(), "the kernel's log is not available: a saved system logs nothing");
}

#[test]
fn records_of_the_kernel() {
    let text = "4,339,5140900,-;nvme0: I/O 12 QID 3 timeout\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:04.0\n";
    let record = kernel::parse(text).unwrap();
    assert_eq!((record.priority, record.number, record.at_us), (Some("warning"), 339, 5_140_900));
    assert_eq!(record.message, "nvme0: I/O 12 QID 3 timeout");
    // Far in the past or the future, its moment is still within the interval.
    let t = Micros(1_000_000_000);
    assert_eq!(record.moment(t, 2.0), Micros(998_000_000));
    let record = kernel::Record { at_us: u64::MAX, ..record };
    assert_eq!(record.moment(t, 2.0), t);
    assert_eq!(kernel::parse("no record"), None);
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test prints it")]
fn the_kernel_logs_what_is_written_to_it() {
    use std::io::Write;
    let root = Root::live();
    let Ok(mut collector) = SOURCE.start(&root) else {
        return eprintln!("SKIPPED log: /dev/kmsg cannot be read here");
    };
    let mut rows = Rows::new("test");
    collector.sample(Tick::new(Micros(0), None), &mut rows).unwrap();
    let written = fs_err::OpenOptions::new()
        .write(true)
        .open("/dev/kmsg")
        .and_then(|mut f| f.write_all(b"<14>fenxi: a test of its log source\n"));
    if written.is_err() {
        return eprintln!("SKIPPED log: /dev/kmsg cannot be written here");
    }
    collector.sample(Tick::new(Micros(60_000_000), Some(60.0)), &mut rows).unwrap();
    let mut reported = crate::testing::Observed::of(rows).events();
    reported.retain(|event| event.ends_with("a test of its log source"));
    assert_eq!(reported, ["log kernel: fenxi: a test of its log source"]);
}

#[test]
fn entries_of_the_journal() {
    let mut text = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1700000000500000\n_BOOT_ID=1\nPRIORITY=3\n_COMM=postgres\n\
        SYSLOG_IDENTIFIER=postgres\n_SYSTEMD_UNIT=postgresql@15-main.service\nMESSAGE\n"
        .to_vec();
    text.extend(13u64.to_le_bytes());
    text.extend(
        b"two\nlines = 2\n\n__REALTIME_TIMESTAMP=1700000001000000\n_TRANSPORT=kernel\nMESSAGE=eth0: up\n\nMESSAGE=cut"
            .as_slice(),
    );
    let mut from = text.as_slice();
    let first = journal::next_entry(&mut from).unwrap().unwrap();
    assert_eq!((first.program.as_str(), first.priority), ("postgres", Some("err")));
    assert_eq!(first.line(), "[postgresql@15-main.service] two\nlines = 2");
    let t = Micros(1_700_000_001_000_000);
    assert_eq!((first.moment(t, 1.0), first.moment(t, 0.25)), (Micros(t.0 - 500_000), Micros(t.0 - 250_000)));
    assert_eq!(journal::next_entry(&mut from).unwrap().unwrap().line(), "eth0: up");
    assert_eq!(journal::next_entry(&mut from).unwrap(), None);
}

/// Adds entries to the journal in a folder, with the program that receives those of other hosts.
fn add_to_journal(program: &str, folder: &std::path::Path, export: &str) {
    use std::{io::Write, process::Stdio};
    let mut command = std::process::Command::new(program);
    command.arg(format!("--output={}", folder.join("made.journal").display())).arg("-");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(export.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test prints it")]
fn the_journal_is_followed() {
    const REMOTE: &str = "/lib/systemd/systemd-journal-remote";
    if !std::path::Path::new(REMOTE).exists() {
        return eprintln!("SKIPPED the journal: systemd-journal-remote is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let entry = |at: i64, priority: u8, message: &str| {
        format!(
            "__CURSOR=s=1;i={at:x}\n__REALTIME_TIMESTAMP={at}\n__MONOTONIC_TIMESTAMP={at}\n_BOOT_ID=8a1b8a1b8a1b8a1b8a1b8a1b8a1b8a1b\n\
            PRIORITY={priority}\nSYSLOG_IDENTIFIER=postgres\n_SYSTEMD_UNIT=postgresql@15-main.service\nMESSAGE={message}\n\n"
        )
    };
    add_to_journal(REMOTE, folder.path(), &entry(journal::now_us() - 60_000_000, 6, "before"));
    let within = folder.path().to_str().unwrap().to_owned();
    let mut session = Machine::new().start(&Log { file: None, journal: Where::Folder(within) });
    session.tick(None);
    let lines: String = (0..150).map(|n| entry(journal::now_us() + n, 3, &format!("line {n}"))).collect();
    add_to_journal(REMOTE, folder.path(), &lines);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut reported = Vec::new();
    while reported.len() < 101 && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
        reported.extend(session.tick(60.0).events());
    }
    assert_eq!(reported[0], "log postgres: [postgresql@15-main.service] line 0");
    let kept = reported.iter().filter(|event| event.contains("] line ")).count();
    let left_out: usize =
        reported.iter().filter_map(|event| event.split(": ").nth(1)?.split(' ').next()?.parse::<usize>().ok()).sum();
    assert_eq!(kept + left_out, 150, "{reported:?}");
}

#[test]
fn a_journal_that_is_not_there_is_an_error() {
    let log = Log { file: None, journal: Where::System };
    let Err(error) = Machine::new().try_start(&log) else { panic!("it started") };
    assert_eq!(error.to_string(), "the systemd journal is not available: a saved system logs nothing");
    let log = Log { file: None, journal: Where::Folder("/none".to_owned()) };
    let mut session = match Machine::new().try_start(&log) {
        Ok(session) => session,
        Err(error) => return assert!(error.to_string().contains("journalctl: No such file"), "{error}"),
    };
    session.tick(None);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let error = loop {
        match session.try_tick(1.0) {
            Ok(_) if std::time::Instant::now() < deadline => std::thread::sleep(std::time::Duration::from_millis(5)),
            Ok(_) => panic!("no error"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("journalctl ended: Failed to open /none"), "{error}");
}
