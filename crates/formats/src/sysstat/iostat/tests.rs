//! iostat's text in the forms of every era, and random reports that must be read back.

use std::fmt::Write;

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

const HEADER: &str = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  \
                      %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  \
                      aqu-sz  %util";

/// A row of `iostat -x` of version 12, values in hundredths.
fn line(text: &mut String, device: &str, values: &[u32]) {
    let widths = [8, 10, 9, 7, 8, 9, 8, 10, 9, 7, 8, 9, 8, 10, 9, 7, 8, 9, 8, 8, 8, 7];
    let _ = write!(text, "{device:<13}");
    for (value, width) in values.iter().zip(widths) {
        let width = width - 1;
        let _ = write!(text, " {:width$.2}", f64::from(*value) / 100.0);
    }
    text.push('\n');
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(
        reports in prop::collection::vec(
            prop::collection::vec(("[a-z]{2,20}[0-9]", prop::collection::vec(0u32..100_000_000, 22)), 1..4), 1..5),
        most_busy in 0u32..=10_000,
        comma in any::<bool>(),
    ) {
        let mut text = String::from("Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n\n");
        let mut expected = Vec::new();
        for (second, report) in reports.iter().enumerate() {
            let _ = write!(text, "11/21/26 10:00:{:02}\n{HEADER}\n", second * 5);
            for (device, values) in report {
                // A device is never busy for more than all of the time.
                let values = &[&values[..21], &[values[21].min(most_busy)]].concat();
                line(&mut text, device, values);
                // The first report is the one since boot.
                if second > 0 {
                    let wrote = values[6] > 0 || values[10] > 0;
                    let v = |i: usize, scale: f64| f64::from(values[i]) / 100.0 * scale;
                    let awaited = if wrote { format!("{:.3}", v(10, 1.0)) } else { String::new() };
                    expected.push(format!("{device} {:.3} {awaited} {:.3}", v(1, 1024.0), v(21, 1.0)));
                }
            }
            text.push('\n');
        }
        if comma {
            text = text.replace('.', ",").replacen("6,1,0", "6.1.0", 1);
        }
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
        let (samples, _) = read.text.split_once("# disk since boot").unwrap_or((&read.text, ""));
        let table = samples.split("# disk\n").nth(1).unwrap_or("");
        let names: Vec<&str> = table.lines().next().unwrap_or("").split('\t').collect();
        let rows: Vec<String> = table.lines().skip(1).take_while(|l| !l.starts_with('#')).map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |name: &str| names.iter().position(|n| *n == name).map_or("", |i| cells[i]);
            let number = |name: &str| cell(name).parse::<f64>().map_or(String::new(), |v| format!("{v:.3}"));
            let fixed = ["read_bytes_per_s", "write_await_ms", "util"].map(number);
            format!("{} {} {} {}", cell("device"), fixed[0], fixed[1], fixed[2])
        }).collect();
        prop_assert_eq!(rows, expected);
    }
}

/// Times and devices of the rows of `disk`.
fn disks(text: &str) -> Vec<(String, String)> {
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 0, "{}", read.text);
    let table = read.text.split("# disk\n").nth(1).unwrap_or("");
    let rows = table.lines().skip(1).take_while(|l| !l.starts_with('#'));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        (cells[0].to_owned(), cells[3].to_owned())
    })
    .collect()
}

#[test]
fn a_second_blank_line_under_the_banner_says_that_all_reports_are_samples() {
    let banner = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n";
    let report = "Device r/s w/s rkB/s wkB/s %util\nsda 1.00 2.00 3.00 4.00 5.00\n\n";
    assert_eq!(disks(&format!("{banner}\n{report}{report}")).len(), 1);
    assert_eq!(disks(&format!("{banner}\n\n{report}{report}")).len(), 2);
    // Without a banner the begin is missing, and with it the report since boot.
    assert_eq!(disks(&format!("{report}{report}")).len(), 2);
}

#[test]
fn times_of_oswatcher_hold_for_the_first_report_under_them() {
    let report = "Device: r/s w/s rkB/s wkB/s %util\n/dev/sda 1.00 2.00 3.00 4.00 5.00\n\n";
    let banner = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n\n";
    let text: String =
        (10..12).map(|h| format!("zzz ***Sat Nov 21 {h}:00:00 UTC 2026\n{banner}{report}{report}{report}")).collect();
    let times: Vec<_> = disks(&text).into_iter().map(|(t, device)| format!("{} {device}", &t[11..19])).collect();
    assert_eq!(times, ["10:00:01 sda", "10:00:02 sda", "11:00:01 sda", "11:00:02 sda"]);
}

#[test]
fn a_blank_line_above_the_report_since_boot_makes_it_no_sample() {
    let banner = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n";
    let header = "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n";
    let report = |rate: f64, sum: u32| format!("{header}vda  1.00  {rate:.2}  0.00  0.00  {sum}  0  0\n\n");
    let reports = [report(10.0, 864_000), report(200.0, 1000), report(300.0, 1500)].concat();
    for blank in ["\n", "\n\n", "\n\n\n"] {
        let read = crate::fixtures::read(&super::FORMAT, [banner, blank, &reports].concat().as_bytes());
        assert_eq!((read.tally.boot_rows, read.tally.rows()), (1, 2), "{}", read.text);
    }
}
