//! Trees that other tools gathered, as they are; and texts that only look like an output.

use arrow_array::{cast::AsArray, types::Float64Type};
use fenxi_store::label;

use super::{MPSTAT, Place, VMSTAT};
use crate::ImportError;

/// `/proc/meminfo`, shortened.
const MEMINFO: &str = "MemTotal:       16384000 kB\nMemFree:         8192000 kB\nMemAvailable:   12000000 kB\n\
    Buffers:          100000 kB\nCached:          2000000 kB\nSwapCached:            0 kB\nActive:          3000000 kB\n\
    Inactive:        1000000 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\nDirty:               100 kB\n";
/// A binary file of sadc, as it begins.
const SA: &[u8] = &[0x96, 0xd5, 0x75, 0x21, 12, 6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0];
const LOG: &str = "Nov 21 07:59:58 db1 kernel: eth0: link is up\nNov 21 07:59:59 db1 sshd[88]: Accepted publickey for bob\n\
    Nov 21 08:00:00 db1 CRON[4711]: (root) CMD (run-parts /etc/cron.hourly)\n";

#[test]
fn a_sosreport_is_imported_as_it_is() {
    let place = Place::of(&[
        ("sosreport-db1-2026-11-21/hostname", b"db1\n"),
        ("sosreport-db1-2026-11-21/sos_commands/host/hostname", b"db1\n"),
        ("sosreport-db1-2026-11-21/proc/meminfo", MEMINFO.as_bytes()),
        ("sosreport-db1-2026-11-21/sos_commands/sar/mpstat", MPSTAT.as_bytes()),
        ("sosreport-db1-2026-11-21/sos_commands/process/vmstat_1_2", VMSTAT.as_bytes()),
        ("sosreport-db1-2026-11-21/var/log/messages", LOG.as_bytes()),
        ("sosreport-db1-2026-11-21/var/log/sa/sa21", SA),
        ("sosreport-db1-2026-11-21/etc/fstab", b"/dev/vda1 / ext4 defaults 0 1\n"),
    ]);
    let (run, inputs) = place.imported(|_| {});
    let found: Vec<_> = inputs
        .iter()
        .map(|input| (input.name.rsplit('/').next().unwrap_or_default(), input.format, input.unread()))
        .collect();
    assert_eq!(
        found,
        [
            ("fstab", None, Some("unknown format")),
            ("hostname", None, Some("unknown format")),
            ("meminfo", Some("proc"), None),
            // The same as the one above it.
            ("hostname", None, Some("its content is at the beginning of sosreport-db1-2026-11-21/hostname")),
            ("vmstat_1_2", Some("vmstat"), None),
            ("mpstat", Some("mpstat"), None),
            ("messages", Some("syslog"), None),
            ("sa21", None, Some("a file of sadc (sar)")),
        ]
    );
    // Inputs that name no host are of the one that the tree is of.
    assert_eq!(run.hosts, ["db1"]);
    assert_eq!(place.usr(&run.id, "cpu").iter().map(|row| row.1.as_str()).collect::<Vec<_>>(), ["db1"; 3]);
}

#[test]
fn trees_of_two_hosts_beside_each_other_are_told_apart() {
    let place = Place::of(&[
        ("a/etc/hostname", b"web1\n"),
        ("a/vmstat.txt", VMSTAT.as_bytes()),
        ("b/proc/sys/kernel/hostname", b"web2\n"),
        ("b/vmstat.txt", VMSTAT.replace(" 40 10 50", " 30 10 60").as_bytes()),
        ("run/tools-default/web3/vmstat/vmstat-stdout.txt", VMSTAT.replace(" 40 10 50", " 20 10 70").as_bytes()),
    ]);
    let (run, _) = place.imported(|_| {});
    let mut rows = place.usr(&run.id, "cpu");
    rows.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(rows, [(2.0, "web1".to_owned(), 40.0), (2.0, "web2".to_owned(), 30.0), (2.0, "web3".to_owned(), 20.0)]);
    let notes = place.notes(&run.id);
    let message = |file: &str, host: &str| {
        let note = format!("assumed: the host `{host}`, as in the folder's name (or give --host)");
        notes.contains(&(file.to_owned(), note))
    };
    assert!(message("a/vmstat.txt", "web1") && message("b/vmstat.txt", "web2"), "{notes:?}");
}

#[test]
fn sheets_with_the_same_columns_are_told_apart_by_their_files() {
    let sheet = |value: u32| format!("timestamp_ms,cpu0\n1517524864000,{value}\n1517524867000,{value}\n").into_bytes();
    let (timer, disk) = (sheet(10), sheet(20));
    let place = Place::of(&[("irq/timer.csv", &timer), ("irq/disk.csv", &disk), ("notes.txt", MPSTAT.as_bytes())]);
    let metrics = |place: &Place| -> Vec<(Option<String>, f64)> {
        let (run, _) = place.imported(|_| {});
        let mut found = Vec::new();
        for batch in place.store.read(&run.id, "metric").unwrap() {
            let values = batch["value"].as_primitive::<Float64Type>();
            let labels = (0..batch.num_rows()).map(|row| label(&batch, "labels", row).map(str::to_owned));
            found.extend(labels.zip(values.values().iter().copied()));
        }
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        found.dedup();
        found
    };
    let of = |file: &str| Some(format!("file={file}"));
    assert_eq!(metrics(&place), [(of("irq/disk"), 20.0), (of("irq/timer"), 10.0)]);
    // Alone it needs no name.
    let place = Place::of(&[("irq/timer.csv", &timer), ("notes.txt", MPSTAT.as_bytes())]);
    assert_eq!(metrics(&place), [(None, 10.0)]);
}

#[test]
fn a_header_without_figures_makes_no_run() {
    let header: String = VMSTAT.lines().take(2).map(|line| format!("{line}\n")).collect();
    let place = Place::of(&[("quoted.txt", header.as_bytes())]);
    let error = place.import(|_| {}).unwrap_err();
    assert!(matches!(error, ImportError::Empty(_)) && place.is_empty(), "{error}");
    assert_eq!(error.to_string(), "nothing was imported:\nquoted.txt: it looks like vmstat, and has no values of it");
    // Beside what has some, it is named among those that were not read.
    let place = Place::of(&[("mpstat.txt", MPSTAT.as_bytes()), ("quoted.txt", header.as_bytes())]);
    let (_, inputs) = place.imported(|_| {});
    assert_eq!(
        inputs.iter().map(|input| input.unread()).collect::<Vec<_>>(),
        [None, Some("nothing in it was understood")]
    );
}
