//! The log source over made-up files, and over the kernel that runs.

use super::{kernel, *};
use crate::testing::Machine;

fn logging(path: &str) -> Log {
    Log { file: Some(path.to_owned()) }
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
    // A line is told when it is whole; a file that was rotated is read from its beginning.
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
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
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
    let mut told = crate::testing::Observed::of(rows).events();
    told.retain(|event| event.ends_with("a test of its log source"));
    assert_eq!(told, ["log kernel: fenxi: a test of its log source"]);
}
