//! Random lines in vmstat's formats, read back.

use std::fmt::Write;

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

/// One line's figures in the order of vmstat's columns.
fn line() -> impl Strategy<Value = Vec<u64>> {
    let small = || 0..200u64;
    let size = || prop_oneof![0..100_000u64, 0..10_000_000_000u64];
    let rate = || prop_oneof![0..100u64, 0..4_000_000_000u64];
    let share = || 0..=100u64;
    (
        [small(), small()],
        [size(), size(), size(), size()],
        [rate(), rate(), rate(), rate(), rate(), rate()],
        [share(), share(), share(), share(), share()],
    )
        .prop_map(|(a, b, c, d)| [&a[..], &b[..], &c[..], &d[..]].concat())
}

fn print(lines: &[Vec<u64>], wide: bool, active: bool, stamps: bool, page: usize) -> String {
    let mut text = String::new();
    for (n, v) in lines.iter().enumerate() {
        if n % page == 0 {
            let memory = if active { "inact active" } else { " buff  cache" };
            let groups = if wide {
                "--procs-- ---memory--- ---swap-- ---io--- -system-- ---cpu---"
            } else {
                "procs ---memory--- ---swap-- -----io---- -system-- ----cpu----"
            };
            let (zone, title) = if stamps { ("  UTC", " -----timestamp-----") } else { ("", "") };
            let _ = writeln!(
                text,
                "{groups}{title}\n r  b   swpd   free {memory}   si   so    bi    bo   in   cs us sy id wa st{zone}"
            );
        }
        let widths = if wide {
            [4, 4, 12, 12, 12, 12, 4, 4, 5, 5, 4, 4, 3, 3, 3, 3, 3]
        } else {
            [2, 2, 6, 6, 6, 6, 4, 4, 5, 5, 4, 4, 2, 2, 2, 2, 2]
        };
        let cells: Vec<_> = v.iter().zip(widths).map(|(v, w)| format!("{v:w$}")).collect();
        let _ = write!(text, "{}", cells.join(" "));
        if stamps {
            let _ = write!(text, " 2026-11-21 {:02}:{:02}:{:02}", 8 + n / 3600, n / 60 % 60, n % 60);
        }
        text.push('\n');
    }
    text
}

/// The rows of `table`: each a line's cells by the names of the columns, blank ones left out.
fn rows(text: &str, table: &str) -> Vec<Vec<(String, String)>> {
    let mut lines = text.lines().skip_while(|l| *l != format!("# {table}")).skip(1);
    let names: Vec<_> = lines.next().unwrap_or("").split('\t').collect();
    let cells = |l: &str| names.iter().zip(l.split('\t')).map(|(n, c)| ((*n).to_owned(), c.to_owned())).collect();
    lines.take_while(|l| !l.starts_with('#')).map(cells).collect()
}

fn value(row: &[(String, String)], name: &str) -> Option<f64> {
    row.iter().find(|(n, _)| n == name)?.1.parse().ok()
}

proptest! {
    #[test]
    fn lines_are_read_back(
        lines in proptest::collection::vec(line(), 2..60),
        wide: bool, active: bool, stamps: bool, page in 12usize..30,
    ) {
        // A page that ends with the text is whole; a header is not printed after it.
        let read = read(&FORMAT, print(&lines, wide, active, stamps, page).as_bytes());
        prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
        prop_assert_eq!(read.tally.boot_rows, 4);
        let columns: [(&str, &str, f64); 17] = [
            ("sched", "runnable", 1.0), ("sched", "blocked", 1.0), ("mem", "swap_used_bytes", 1024.0),
            ("mem", "free_bytes", 1024.0),
            ("mem", if active { "inactive_bytes" } else { "buffers_bytes" }, 1024.0),
            ("mem", if active { "active_bytes" } else { "cached_bytes" }, 1024.0),
            ("vm", "swap_in_bytes_per_s", 1024.0), ("vm", "swap_out_bytes_per_s", 1024.0),
            ("vm", "page_in_bytes_per_s", 1024.0), ("vm", "page_out_bytes_per_s", 1024.0),
            ("sched", "intr_per_s", 1.0), ("sched", "context_switches_per_s", 1.0),
            ("cpu", "usr", 1.0), ("cpu", "sys", 1.0), ("cpu", "idle", 1.0), ("cpu", "iowait", 1.0),
            ("cpu", "steal", 1.0),
        ];
        let tables: Vec<_> = ["sched", "mem", "vm", "cpu"].map(|t| (t, rows(&read.text, t))).into();
        for (n, line) in lines.iter().skip(1).enumerate() {
            for ((table, column, factor), printed) in columns.iter().zip(line) {
                let found = tables.iter().find(|(t, _)| t == table).and_then(|(_, r)| r.get(n));
                let found = found.and_then(|row| value(row, column));
                let wanted = *printed as f64 * factor;
                // The text has 12 digits.
                let near = found.is_some_and(|f| (f - wanted).abs() <= wanted * 1e-11);
                prop_assert!(near, "{}.{} of line {}: {:?}, not {}", table, column, n, found, wanted);
            }
        }
    }
}

#[test]
fn a_header_that_comes_early_begins_another_run() {
    let run = "procs ---memory--- ---swap-- ---io--- -system-- ---cpu---\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n";
    let figures = " 1  0      0 999999  14976 2096792    0    0     1     2    3    4  5  6 88  1\n";
    let text = [run, &figures.repeat(3), run, &figures.repeat(2)].concat();
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!((read.tally.boot_rows, read.tally.rows()), (2 * 4, 3 * 4), "{}", read.text);
}

#[test]
fn the_command_above_says_what_its_output_does_not() {
    let text = "$ vmstat -y -S M 5 2\nprocs ---memory--- ---swap-- ---io--- -system-- ---cpu---\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n 1  0      0    10  14 20    1    0     1     2    3    4  5  6 88  1\n";
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!((read.tally.boot_rows, read.tally.rows(), read.tally.assumptions), (0, 4, 1), "{}", read.text);
    let of = |table, column| value(&rows(&read.text, table)[0], column);
    assert_eq!(of("mem", "free_bytes"), Some(10.0 * 1_048_576.0));
    assert_eq!(of("vm", "swap_in_bytes_per_s"), Some(1_048_576.0));
    assert_eq!(of("vm", "page_out_bytes_per_s"), Some(2048.0));
    assert_eq!(of("cpu", "dt"), Some(5.0));
}

#[test]
fn what_a_counter_that_went_back_makes_of_a_share_is_no_value() {
    let text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n\
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
         1  0      0 900000  10000 500000    0    0     5     6  100  200  5  1 94  0  0\n \
         0  0      0 900200  10000 500000    0    0     0     8  130  220  0  0 99 3035110221  0\n \
         0  0      0 900200  10000 500000    0    0     0     8  130  220  0  0 99 1  0\n";
    let read = read(&FORMAT, text.as_bytes());
    assert!(!read.text.contains("\t3035110221"), "{}", read.text);
    assert!(read.text.contains("cpu.iowait: a value cannot be, and is left out: 3035110221"), "{}", read.text);
}
