//! mpstat's text in the forms of every era, and random blocks that must be read back.

use std::fmt::Write;

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

const BANNER: &str = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n";
const HEADER: &str = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle";

/// A time as printed, `k` seconds after shortly before noon.
fn time(k: usize, half_day: bool) -> String {
    let (minutes, seconds) = ((59 * 60 + 55 + k) / 60, (55 + k) % 60);
    let hour = 11 + minutes / 60;
    match half_day {
        false => format!("{hour:02}:{:02}:{seconds:02}   ", minutes % 60),
        true => format!("{hour:02}:{:02}:{seconds:02} {}", minutes % 60, if hour < 12 { "AM" } else { "PM" }),
    }
}

/// The rows of a table, cell by cell.
fn rows(text: &str, table: &str) -> Vec<Vec<String>> {
    let Some((_, rest)) = text.split_once(&format!("# {table}\n")) else { return Vec::new() };
    rest.lines()
        .skip(1)
        .take_while(|l| !l.starts_with('#'))
        .map(|l| l.split('\t').map(str::to_owned).collect())
        .collect()
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(
        reports in prop::collection::vec(prop::collection::vec(prop::collection::vec(1u32..10_000, 10), 1..6), 1..6),
        interrupts in any::<bool>(),
        half_day in any::<bool>(),
        comma in any::<bool>(),
    ) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for (k, cpus) in reports.iter().enumerate() {
            let (begin, end) = (time(5 * k, half_day), time(5 * k + 5, half_day));
            let _ = write!(text, "\n{begin}  {HEADER}\n");
            for (cpu, shares) in cpus.iter().enumerate() {
                let name = if cpu == 0 { "all".to_owned() } else { (cpu - 1).to_string() };
                let _ = write!(text, "{end} {name:>4}");
                for value in shares {
                    let _ = write!(text, "  {:6.2}", f64::from(*value) / 100.0);
                }
                text.push('\n');
                let name = if cpu == 0 { "" } else { &name };
                let intr = if interrupts { format!(" {}", f64::from(shares[3]) * 10.0) } else { String::new() };
                expected.push(format!("5 {name} {} {}{intr}", f64::from(shares[0]) / 100.0, f64::from(shares[9]) / 100.0));
            }
            if interrupts {
                let _ = write!(text, "\n{begin}  CPU    intr/s\n");
                for (cpu, shares) in cpus.iter().enumerate() {
                    let name = if cpu == 0 { "all".to_owned() } else { (cpu - 1).to_string() };
                    let _ = writeln!(text, "{end} {name:>4} {:9.2}", f64::from(shares[3]) * 10.0);
                }
            }
        }
        let text = if comma { text.replace('.', ",") } else { text };
        let read = read(&FORMAT, format!("{BANNER}{text}").as_bytes());
        prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
        let cells = |row: Vec<String>| {
            // t, dt, host, then cpu unless there is none but all.
            let shift = usize::from(row.len() > if interrupts { 14 } else { 13 });
            let name = if shift == 1 { row[3].clone() } else { String::new() };
            let intr = if interrupts { format!(" {}", row[13 + shift]) } else { String::new() };
            format!("{} {name} {} {}{intr}", row[1], row[3 + shift], row[12 + shift])
        };
        let given: Vec<String> = rows(&read.text, "cpu").into_iter().map(cells).collect();
        prop_assert_eq!(given, expected);
    }
}

fn line(time: &str, cpu: &str, usr: f64, idle: f64) -> String {
    format!("{time}  {cpu:>3}  {usr:6.2}    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00  {idle:6.2}\n")
}

#[test]
fn all_cpus_without_a_row_of_all_give_their_mean_and_some_do_not() {
    let one = |cpu: &str, usr: f64| line("10:00:05", cpu, usr, 100.0 - usr);
    let head = format!("{BANNER}\n10:00:00  {HEADER}\n");
    let all = read(&FORMAT, format!("{head}{}{}", one("0", 10.0), one("1", 30.0)).as_bytes());
    let rows_of_all: Vec<_> = rows(&all.text, "cpu").into_iter().filter(|row| row[3].is_empty()).collect();
    assert_eq!(rows_of_all.len(), 1, "{}", all.text);
    assert_eq!((rows_of_all[0][4].as_str(), rows_of_all[0][13].as_str()), ("20", "80"));
    let some = read(&FORMAT, format!("{head}{}", one("1", 30.0)).as_bytes());
    assert!(rows(&some.text, "cpu").iter().all(|row| row[3] == "1"), "{}", some.text);
}

#[test]
fn a_cpu_that_is_offline_has_no_row() {
    let text = format!(
        "{BANNER}\n10:00:00  {HEADER}\n{}{}{}\n10:00:00  CPU    intr/s\n10:00:05  all    50.00\n10:00:05    0    50.00\n10:00:05    1     0.00\n",
        line("10:00:05", "all", 5.0, 95.0),
        line("10:00:05", "0", 5.0, 95.0),
        line("10:00:05", "1", 0.0, 0.0),
    );
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 0, "{}", read.text);
    let cpus: Vec<_> = rows(&read.text, "cpu").into_iter().map(|row| row[3].clone()).collect();
    assert_eq!(cpus, ["", "0"]);
}

#[test]
fn damaged_lines_are_noted_and_the_others_read() {
    let text = format!(
        "{BANNER}\n10:00:00  {HEADER}\n{}10:00:05    1   1.00  2.00\n10:00:05    2   x\nsome words\n{}",
        line("10:00:05", "all", 5.0, 95.0),
        line("10:00:10", "all", 7.0, 93.0),
    );
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!((read.tally.notes, rows(&read.text, "cpu").len()), (3, 2), "{}", read.text);
}
