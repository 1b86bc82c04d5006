//! pidstat's text in the forms of every era, and random reports that must be read back.

use std::fmt::Write;

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

const BANNER: &str = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n";

/// The rows of a table, each cell under its column's name.
fn rows(text: &str, table: &str) -> Vec<Vec<(String, String)>> {
    let Some((_, rest)) = text.split_once(&format!("# {table}\n")) else { return Vec::new() };
    let names: Vec<&str> = rest.lines().next().unwrap_or("").split('\t').collect();
    let lines = rest.lines().skip(1).take_while(|l| !l.starts_with('#'));
    let cells = |line: &str| names.iter().zip(line.split('\t')).map(|(n, c)| ((*n).to_owned(), c.to_owned())).collect();
    lines.map(cells).collect()
}

fn cell<'r>(row: &'r [(String, String)], name: &str) -> &'r str {
    row.iter().find(|(n, _)| n == name).map_or("", |(_, c)| c.as_str())
}

#[test]
fn shares_with_their_sign_and_scaled_sizes_are_read() {
    let text = format!(
        "{BANNER}
10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:05     1000      7900   59.4%   13.5%    0.0%    8.5%   72.9%     2  gnome-shell

10:00:00      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
10:00:05     1000      7900      1.5M     12.0k      0.0k       0  gnome-shell
"
    );
    let read = read(&FORMAT, text.as_bytes());
    let all = rows(&read.text, "process");
    let [row] = all.as_slice() else { panic!("{}", read.text) };
    let wanted = [("usr", "59.4"), ("sys", "13.5"), ("read_bytes_per_s", "1572864"), ("write_bytes_per_s", "12288")];
    assert_eq!(wanted.map(|(name, _)| (name, cell(row, name))), wanted, "{}", read.text);
    assert_eq!(read.tally.notes, 0, "{}", read.text);
}

#[derive(Clone, Debug)]
struct Task {
    usr: u32,
    sys: u32,
    faults: u32,
    rss: u32,
    comm: String,
    /// Which sections it is in.
    shown: (bool, bool),
}

fn task() -> impl Strategy<Value = Task> {
    (0u32..9000, 0u32..9000, 0u32..1_000_000, 0u32..10_000_000, "[a-z][a-z :]{0,12}[a-z]", any::<(bool, bool)>())
        .prop_map(|(usr, sys, faults, rss, comm, shown)| Task { usr, sys, faults, rss, comm, shown })
}

proptest! {
    #[test]
    fn sections_of_a_block_become_one_row_for_each_process(
        blocks in prop::collection::vec(prop::collection::btree_map(1u32..100_000, task(), 1..6), 1..5),
    ) {
        let mut text = BANNER.to_owned();
        let mut expected = Vec::new();
        let f = |v: u32| f64::from(v) / 100.0;
        for (k, tasks) in blocks.iter().enumerate() {
            let (begin, end) = (format!("10:00:{:02}", 5 * k), format!("10:00:{:02}", 5 * k + 5));
            let _ = writeln!(text, "\n{begin}      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command");
            for (pid, t) in tasks.iter().filter(|(_, t)| t.shown.0) {
                let (usr, sys) = (f(t.usr), f(t.sys));
                let sum = usr + sys;
                let _ = writeln!(
                    text,
                    "{end} {:8} {pid:9} {usr:7.2} {sys:7.2} {:7.2} {:7.2} {sum:7.2} {:5}  {}", 1000, 0.0, 0.0, 1, t.comm
                );
            }
            let _ = writeln!(text, "\n{begin}      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command");
            for (pid, t) in tasks.iter().filter(|(_, t)| t.shown.1) {
                let _ = writeln!(
                    text,
                    "{end} {:8} {pid:9} {:9.2} {:9.2} {:7} {:7} {:6.2}  {}", 1000, f(t.faults), 0.0, 0, t.rss, 0.5, t.comm
                );
            }
            for (pid, t) in tasks.iter().filter(|(_, t)| t.shown.0 || t.shown.1) {
                let usr = if t.shown.0 { f(t.usr).to_string() } else { String::new() };
                let rss = if t.shown.1 { (f64::from(t.rss) * 1024.0).to_string() } else { String::new() };
                expected.push((end.clone(), pid.to_string(), t.comm.clone(), usr, rss));
            }
        }
        let read = read(&FORMAT, text.as_bytes());
        // Without a task there is nothing to take, which is noted.
        prop_assert_eq!(read.tally.notes, u64::from(expected.is_empty()), "{}", read.text);
        let mut given: Vec<_> = rows(&read.text, "process").into_iter().map(|row| {
            let c = |name: &str| cell(&row, name).to_owned();
            (c("t")[11..19].to_owned(), c("pid"), c("comm"), c("usr"), c("rss_bytes"))
        }).collect();
        given.sort();
        expected.sort();
        prop_assert_eq!(given, expected);
    }
}

#[test]
fn threads_belong_to_the_process_above_if_that_has_their_user() {
    let text = format!(
        "{BANNER}\n10:00:00      UID      TGID       TID    %usr %system  %guest    %CPU   CPU  Command\n\
         10:00:05        0         -        74    0.00    0.96    0.00    0.96     0  |__tokio-rt-worker\n\
         10:00:05        0      1520         -    3.00    1.00    0.00    4.00     0  java\n\
         10:00:05        0         -      1521    3.00    0.00    0.00    3.00     0  |__C2 CompilerThre\n\
         10:00:05      102         -      3097    0.00    0.96    0.00    0.96     0  |__mariadbd\n"
    );
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 0, "{}", read.text);
    let threads: Vec<_> = rows(&read.text, "thread")
        .iter()
        .map(|row| ["pid", "tid", "comm"].map(|name| cell(row, name).to_owned()).join("/"))
        .collect();
    assert_eq!(threads, ["/74/tokio-rt-worker", "1520/1521/C2 CompilerThre", "/3097/mariadbd"]);
}

#[test]
fn the_share_of_all_cpus_is_turned_into_that_of_one() {
    let text = format!(
        "{BANNER}\n10:00:00      UID       PID    %usr %system  %guest    %CPU   CPU  Command\n\
         10:00:05        0      1520   60.00   20.00    0.00   40.00     0  java\n\
         10:00:05        0      1521    0.33    0.33    0.00    0.33     0  sh\n"
    );
    let read = read(&FORMAT, text.as_bytes());
    let shares: Vec<_> = rows(&read.text, "process").iter().map(|row| cell(row, "cpu").to_owned()).collect();
    assert_eq!(shares, ["80", "0.66"]);
    // Without the switch the share is the printed one, whatever its parts add up to.
    let text = text.replace("   40.00  ", "   80.00  ").replace("    0.33     0  sh", "    0.20     0  sh");
    let read = crate::fixtures::read(&FORMAT, text.as_bytes());
    let shares: Vec<_> = rows(&read.text, "process").iter().map(|row| cell(row, "cpu").to_owned()).collect();
    assert_eq!(shares, ["80", "0.2"]);
}

#[test]
fn what_may_not_be_read_and_damaged_lines_give_no_values() {
    let text = format!(
        "{BANNER}\n10:00:00      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n\
         10:00:02        0      1520     -1.00     -1.00     -1.00       4  java\n\
         10:00:02        0      1521      0.00\n10:00:02        x         y         z   1 2 3 what\n"
    );
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 2, "{}", read.text);
    let all = rows(&read.text, "process");
    assert_eq!((all.len(), cell(&all[0], "read_bytes_per_s"), cell(&all[0], "io_wait")), (1, "", "2"));
}
