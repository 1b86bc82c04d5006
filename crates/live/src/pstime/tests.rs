//! Output for given rows, letter by letter.

use fenxi_model::{
    Micros, Rows,
    catalog::{cpu, process, thread},
};

use super::{Order, Pstime, PstimeOptions, Scale, four_digits};
use crate::{Frame, View};

const T: Micros = Micros(1_700_000_000_000_000);

fn rows() -> Rows {
    let mut rows = Rows::new("h");
    for name in [None, Some("0"), Some("1")] {
        rows.row(&cpu::TABLE, T, 10.0).str(cpu::cpu, name);
    }
    rows.row(&process::TABLE, T, 10.0)
        .i64(process::pid, 7141)
        .str(process::comm, "mysqld")
        .str(process::user, "mysql")
        .f64(process::usr, 88.34)
        .f64(process::sys, 6.782)
        .f64(process::cpu, 95.122)
        .f64(process::run_queue_wait, 0.0246)
        .f64(process::children_cpu, 0.0)
        .f64(process::lived_s, 99.0)
        .str(process::cpu_measured, "clock")
        .str(process::command, "/u/dist/bin/mysqld --defaults-file=/etc/my.cnf");
    rows.row(&process::TABLE, T, 10.0)
        .i64(process::pid, 19869)
        .str(process::comm, "cc1")
        .str(process::user, "a-long-name")
        .f64(process::usr, 0.0123)
        .f64(process::sys, 0.0)
        .f64(process::cpu, 0.0123)
        .f64(process::lived_s, 0.4)
        .str(process::state, "X");
    rows.row(&process::TABLE, T, 10.0)
        .str(process::comm, "(exited)")
        .f64(process::usr, 2.0)
        .f64(process::sys, 1.0)
        .f64(process::cpu, 3.0)
        .str(process::cpu_measured, "ticks");
    rows
}

fn shown(rows: &Rows, options: PstimeOptions) -> String {
    let mut view = Pstime::new(options);
    let mut out = String::new();
    view.frame(&Frame { t: T, dt: 10.0, since_boot: false, rows }, &mut out);
    view.end(&mut out);
    out
}

#[test]
fn shares_of_the_machine_with_four_digits() {
    assert_eq!(
        shown(&rows(), PstimeOptions::default()),
        "\
2023-11-14T22:13:20.000000Z  10.000 s, % of 2 CPUs, by clock, ticks
USER         PID     %USR     %SYS     %CPU    %WAIT    %CHLD    COMMAND
mysql       7141    44.17    3.391    47.56  0.01230    0.000    /u/dist/bin/mysqld --defaults-file=/etc/my.cnf
-              -    1.000   0.5000    1.500        -        - ~  (exited)
a-long-n   19869 0.006150    0.000 0.006150        -        - +- cc1
-              -    45.18    3.891    49.07  0.01230        -    (total)

"
    );
}

#[test]
fn seconds_ordered_cut_and_chosen() {
    let options =
        PstimeOptions { scale: Scale::Seconds, order: Order::Pid, top: Some(1), width: Some(52), ..Default::default() };
    assert_eq!(
        shown(&rows(), options),
        "\
2023-11-14T22:13:20.000000Z
10.000 s, CPU seconds, by clock, ticks
USER         PID    USR-s    SYS-s    COMMAND
mysql       7141    8.834   0.6782    /u/dist/bin/my
-              -    9.035   0.7782    (total of 3, 1

"
    );
    let chooses: super::Chooses = Box::new(|pid, _, comm, _| pid.is_some() && comm == "cc1");
    let options = PstimeOptions { scale: Scale::OneCpu, chooses: Some(chooses), ..Default::default() };
    let text = shown(&rows(), options);
    assert!(text.contains("a-long-n   19869  0.01230    0.000  0.01230"), "{text}");
    assert_eq!(text.lines().count(), 5, "{text}");
}

#[test]
fn a_terminal_of_40_columns_holds_number_usr_sys_and_the_name() {
    let options = PstimeOptions { width: Some(40), top: Some(2), ..Default::default() };
    assert_eq!(
        shown(&rows(), options),
        "\
2023-11-14T22:13:20.000000Z
10.000 s, % of 2 CPUs, by clock, ticks
    PID     %USR     %SYS    COMMAND
   7141    44.17    3.391    /u/dist/bin
      -    1.000   0.5000 ~  (exited)
      -    45.18    3.891    (total of 3

"
    );
}

#[test]
fn nothing_is_a_total_of_nothing() {
    let options = PstimeOptions { summary: true, ..Default::default() };
    assert_eq!(
        shown(&Rows::new("h"), options),
        "\
10.000 s, % of one CPU (the number of CPUs is not known)
USER         PID     %USR     %SYS     %CPU    %WAIT    %CHLD    COMMAND
-              -    0.000    0.000    0.000        -        -    (total)
"
    );
}

#[test]
fn a_summary_adds_intervals_and_threads_stand_for_their_process() {
    let mut rows = rows();
    for (tid, pct) in [(7141, 60.0), (7142, 35.0)] {
        rows.row(&thread::TABLE, T, 10.0)
            .i64(thread::pid, 7141)
            .i64(thread::tid, tid)
            .str(thread::comm, "io")
            .f64(thread::usr, pct)
            .f64(thread::sys, 0.0)
            .f64(thread::cpu, pct);
    }
    let options = PstimeOptions { summary: true, threads: true, scale: Scale::Seconds, ..Default::default() };
    let mut view = Pstime::new(options);
    let mut out = String::new();
    for _ in 0..2 {
        view.frame(&Frame { t: T, dt: 10.0, since_boot: false, rows: &rows }, &mut out);
    }
    assert_eq!(out, "");
    view.end(&mut out);
    assert_eq!(
        out,
        "\
20.000 s, CPU seconds, by ticks
USER         PID     TID    USR-s    SYS-s    CPU-s   WAIT-s   CHLD-s    COMMAND
-           7141    7141    12.00    0.000    12.00        -        -    io
-           7141    7142    7.000    0.000    7.000        -        -    io
-              -       -   0.4000   0.2000   0.6000        -        - ~  (exited)
a-long-n   19869       - 0.002460    0.000 0.002460        -        - +- cc1
-              -       -    19.40   0.2000    19.60        -        -    (total)
"
    );
}

#[test]
fn every_magnitude_fits_its_column() {
    let texts: Vec<_> = [0.0, 0.000_123_4, 0.0123, 0.5, 3.391_2, 44.17, 100.0, 25_600.0].map(four_digits).into();
    assert_eq!(texts, ["0.000", "0.000123", "0.01230", "0.5000", "3.391", "44.17", "100.0", "25600"]);
}
