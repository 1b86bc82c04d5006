//! The text of the view.

use fenxi_model::{Micros, Rows, catalog::*};
use jiff::tz::TimeZone;

use super::*;

/// 2026-11-21 14:35:53 UTC.
const T: Micros = Micros(1_795_271_753_000_000);

fn options() -> Options {
    Options {
        cpus: Chosen::default(),
        aggregate: false,
        shares: true,
        interrupts: Interrupts::default(),
        busy: false,
        solaris: false,
        skip_boot: false,
        system: ("Linux 6.1.0".to_owned(), Some("x86_64".to_owned())),
        zone: TimeZone::UTC,
    }
}

/// The row of a CPU, or of all without a name: %usr, %sys and the rest idle.
fn add(rows: &mut Rows, at: i64, name: Option<&str>, usr: f64, sys: f64) {
    let mut row = rows.row(&cpu::TABLE, Micros(T.0 + at * 1_000_000), 1.0);
    row.str(cpu::cpu, name).f64(cpu::usr, usr).f64(cpu::sys, sys).f64(cpu::idle, 100.0 - usr - sys);
    for place in [cpu::nice, cpu::iowait, cpu::irq, cpu::softirq, cpu::steal, cpu::guest] {
        row.f64(place, 0.0);
    }
}

/// Three CPUs, of which number 10 comes before 2 as it does in a run.
fn three(at: i64, usr: [f64; 3]) -> Rows {
    let mut rows = Rows::new("db1");
    for (name, usr) in ["0", "10", "2"].into_iter().zip([usr[0], usr[2], usr[1]]) {
        add(&mut rows, at, Some(name), usr, 1.0);
    }
    add(&mut rows, at, None, usr.iter().sum::<f64>() / 3.0, 1.0);
    rows
}

fn frame(rows: &Rows, at: i64, since_boot: bool) -> Frame<'_> {
    Frame { t: Micros(T.0 + at * 1_000_000), dt: if since_boot { 9999.0 } else { 1.0 }, since_boot, rows }
}

fn shown(options: Options, frames: &[(Rows, bool)]) -> String {
    let (mut view, mut out) = (Mpstat::new(options), String::new());
    for (at, (rows, since_boot)) in frames.iter().enumerate() {
        view.frame(&frame(rows, at as i64, *since_boot), &mut out);
    }
    view.end(&mut out);
    out
}

fn chosen(text: &str) -> Chosen {
    Chosen::parse(text).unwrap()
}

#[test]
fn it_looks_like_the_original_and_ends_with_averages() {
    let frames = [
        (three(0, [5.0, 5.0, 5.0]), true),
        (three(1, [10.0, 20.0, 60.0]), false),
        (three(2, [30.0, 20.0, 0.0]), false),
    ];
    assert_eq!(
        shown(options(), &frames),
        "\
Linux 6.1.0 (db1) \t2026-11-21 \t_x86_64_\t(3 CPU)

14:35:53     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
14:35:53     all    5.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   94.00
14:35:53       0    5.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   94.00
14:35:53       2    5.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   94.00
14:35:53      10    5.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   94.00

14:35:53     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
14:35:54     all   30.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   69.00
14:35:54       0   10.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   89.00
14:35:54       2   20.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   79.00
14:35:54      10   60.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   39.00

14:35:54     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
14:35:55     all   16.67    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   82.33
14:35:55       0   30.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   69.00
14:35:55       2   20.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   79.00
14:35:55      10    0.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   99.00

Average:     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
Average:     all   23.33    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   75.67
Average:       0   20.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   79.00
Average:       2   20.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   79.00
Average:      10   30.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00       -   69.00
"
    );
}

/// The first two words and `%usr` of each line that has values.
fn lines(text: &str) -> Vec<String> {
    let values = text.lines().filter(|line| line.contains(':') && !line.contains("CPU"));
    values.map(|line| line.split_whitespace().skip(1).take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn chosen_cpus_are_shown_together_or_each_and_an_offline_one_by_a_dash() {
    let frames = [(three(1, [10.0, 20.0, 60.0]), false)];
    let of = |cpus: &str, aggregate| lines(&shown(Options { cpus: chosen(cpus), aggregate, ..options() }, &frames));
    assert_eq!(of("0,2-5", false), ["0 10.00", "2 20.00", "0 10.00", "2 20.00"]);
    assert_eq!(of("all,10", false), ["all 30.00", "10 60.00", "all 30.00", "10 60.00"]);
    assert_eq!(of("0,2-5", true), ["0,2-5 15.00", "0,2-5 15.00"]);
    assert_eq!(of("ALL", true), ["all 30.00", "all 30.00"]);
    // CPU 3 is offline: it was asked for by name, and has no average.
    assert_eq!(of("2,3", false), ["2 20.00", "3 -", "2 20.00"]);
}

#[test]
fn one_line_a_frame_has_a_header_now_and_then() {
    let frames: Vec<_> = (0..25).map(|at| (three(at, [1.0, 2.0, 3.0]), false)).collect();
    let text = shown(Options { aggregate: true, ..options() }, &frames);
    assert_eq!(text.matches("%usr").count(), 3, "{text}");
    assert_eq!(lines(&text).len(), 26);
}

#[test]
fn cpus_that_come_and_go_are_said_and_events_alone_give_no_block() {
    let mut rows = three(1, [10.0, 20.0, 60.0]);
    rows.event(T, "gone", "cpu3", "the CPU went offline");
    rows.event(T, "gone", "cpu4", "the CPU went offline");
    rows.event(T, "appeared", "cpu2", "the CPU went online");
    rows.event(T, "appeared", "eth0", "an interface");
    let mut alone = Rows::new("db1");
    alone.event(T, "reset", "cpu", "counters went back");
    let text = shown(options(), &[(rows, false), (alone, false)]);
    assert!(text.starts_with("<<processors added: 2>>\n<<processors removed: 3, 4>>\nLinux"), "{text}");
    assert_eq!(text.matches("%usr").count(), 2, "{text}");
}

/// A thread that ran.
fn thread(rows: &mut Rows, pid: i64, tid: i64, name: &str, cpu: f64) {
    let mut row = rows.row(&thread::TABLE, T, 1.0);
    row.i64(thread::pid, pid).i64(thread::tid, tid).str(thread::comm, name).f64(thread::cpu, cpu);
}

#[test]
fn busy_leaves_idle_cpus_out_and_names_who_is_saturated() {
    let busy = || Options { busy: true, skip_boot: true, ..options() };
    let machine = |usr: [f64; 3]| {
        let mut rows = Rows::new("db1");
        for (name, usr) in ["0", "1", "2"].into_iter().zip(usr) {
            add(&mut rows, 0, Some(name), usr, 0.0);
        }
        add(&mut rows, 0, None, usr.iter().sum::<f64>() / 3.0, 0.0);
        rows
    };
    let said = |rows: Rows| {
        let text = shown(busy(), &[(rows, false)]);
        text.lines().filter(|l| l.starts_with("maxed")).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut rows = machine([0.2, 100.0, 3.0]);
    assert_eq!(lines(&shown(busy(), &[(machine([0.2, 100.0, 3.0]), false)]))[..3], ["all 34.40", "1 100.00", "2 3.00"]);
    thread(&mut rows, 7, 71, "java", 99.4);
    thread(&mut rows, 8, 8, "sh", 3.0);
    assert_eq!(said(rows), ["maxed out: CPU 1 at 100.0 %, the machine at 34.4 %: thread 7/71 java 99.4 %"]);
    // It moves from CPU to CPU, so that none of them looks saturated.
    let mut rows = machine([34.0, 33.0, 33.0]);
    thread(&mut rows, 7, 71, "java", 99.4);
    assert_eq!(
        said(rows),
        [
            "maxed out: no single CPU, but a thread that moves between them, the machine at 33.3 %: thread 7/71 java 99.4 %"
        ]
    );
    let two = said(machine([100.0, 96.0, 3.0]));
    assert_eq!(two, ["maxed out: 2 of 3 CPUs (0, 1) at 96.0 % or more, the machine at 66.3 %"]);
    // Nothing is reported for a machine that looks as busy as it is, or of one with nothing saturated.
    assert!(said(machine([100.0, 96.0, 80.0])).is_empty());
    assert!(said(machine([60.0, 50.0, 40.0])).is_empty());
}

#[test]
fn interrupts_are_shown_by_cpu_with_a_column_for_each_that_was_ever_seen() {
    let mut boot = three(0, [1.0, 1.0, 1.0]);
    let irq = |rows: &mut Rows, name: &str, cpu: &str, value: f64| {
        rows.row(&irq::TABLE, T, 1.0).str(irq::irq, name).str(irq::cpu, cpu).f64(irq::intr_per_s, value);
    };
    irq(&mut boot, "24", "0", 0.5);
    irq(&mut boot, "LOC", "2", 0.5);
    let mut rows = three(1, [1.0, 1.0, 1.0]);
    irq(&mut rows, "LOC", "0", 250.0);
    irq(&mut rows, "24", "10", 12.5);
    rows.row(&sched::TABLE, T, 1.0).f64(sched::intr_per_s, 300.0);
    let interrupts = Interrupts { sum: true, hard: true, soft: false };
    let options = Options { shares: false, skip_boot: true, interrupts, ..options() };
    assert_eq!(
        shown(options, &[(boot, true), (rows, false)]),
        "\
Linux 6.1.0 (db1) \t2026-11-21 \t_x86_64_\t(3 CPU)

14:35:53     CPU     intr/s
14:35:54     all     300.00
14:35:54       0     250.00
14:35:54       2       0.00
14:35:54      10      12.50

14:35:53     CPU       24/s      LOC/s
14:35:54       0       0.00     250.00
14:35:54       2       0.00       0.00
14:35:54      10      12.50       0.00

Average:     CPU     intr/s
Average:     all     300.00
Average:       0     250.00
Average:       2       0.00
Average:      10      12.50

Average:     CPU       24/s      LOC/s
Average:       0       0.00     250.00
Average:       2       0.00       0.00
Average:      10      12.50       0.00
"
    );
}

#[test]
fn columns_of_solaris_are_kept_and_rates_of_all_are_per_cpu() {
    let rows = || {
        let mut rows = Rows::new("db1");
        for (name, minor, usr) in [(Some("0"), 10.0, 20.0), (Some("32"), 5.0, 41.0), (None, 15.0, 30.5)] {
            let mut row = rows.row(&cpu::TABLE, T, 5.0);
            row.str(cpu::cpu, name).f64(cpu::minor_faults_per_s, minor).f64(cpu::usr, usr).f64(cpu::idle, 100.0 - usr);
            row.f64(cpu::mutex_spins_per_s, 1.0).f64(cpu::cross_calls_per_s, 2.0);
        }
        rows
    };
    let text = shown(options(), &[(rows(), false)]);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = text.lines().map(words).collect();
    assert_eq!(lines[0][..5], ["2026-11-21", "14:35:53", "CPU", "minf", "mjf"]);
    assert_eq!(lines[3][2..6], ["all", "7.50", "-", "1.00"], "{text}");
    assert_eq!(lines[3].last().unwrap(), "69.50");
    let text = shown(Options { aggregate: true, ..options() }, &[(rows(), false)]);
    assert_eq!(words(text.lines().next().unwrap())[2], "CPUs");
    assert_eq!(words(text.lines().nth(1).unwrap())[2..4], ["2", "7.50"], "{text}");
}

#[test]
fn a_line_of_all_cpus_alone_is_shown_per_cpu_where_their_number_is_known() {
    let mut rows = Rows::new("db1");
    rows.row(&sched::TABLE, T, 5.0).f64(sched::cpus_online, 4.0);
    let mut row = rows.row(&cpu::TABLE, T, 5.0);
    row.f64(cpu::minor_faults_per_s, 28.0).f64(cpu::mutex_spins_per_s, 4.0).f64(cpu::cross_calls_per_s, 8.0);
    row.f64(cpu::usr, 3.0).f64(cpu::idle, 97.0);
    let text = shown(Options { aggregate: true, ..options() }, &[(rows, false)]);
    let line: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(line[2..6], ["4", "7.00", "-", "2.00"], "{text}");
}

/// A CPU of Linux with the counts of perf and /proc/interrupts, and stolen time.
fn add_counted(rows: &mut Rows, name: Option<&str>, steal: f64) {
    let mut row = rows.row(&cpu::TABLE, T, 1.0);
    row.str(cpu::cpu, name);
    for (place, value) in [(cpu::usr, 10.0), (cpu::nice, 5.0), (cpu::guest, 1.0), (cpu::sys, 4.0), (cpu::irq, 1.0)] {
        row.f64(place, value);
    }
    for (place, value) in [(cpu::softirq, 2.0), (cpu::iowait, 7.0), (cpu::steal, steal), (cpu::idle, 70.0 - steal)] {
        row.f64(place, value);
    }
    let n = if name.is_none() { 2.0 } else { 1.0 };
    for (place, value) in [(cpu::minor_faults_per_s, 300.0), (cpu::major_faults_per_s, 1.0), (cpu::intr_per_s, 900.0)] {
        row.f64(place, value * n);
    }
    for (place, value) in
        [(cpu::cross_calls_per_s, 80.0), (cpu::context_switches_per_s, 1200.0), (cpu::migrations_per_s, 9.0)]
    {
        row.f64(place, value * n);
    }
}

#[test]
fn linux_is_shown_in_the_columns_of_solaris_when_asked() {
    let rows = |steal| {
        let mut rows = Rows::new("db1");
        for name in [Some("0"), Some("1"), None] {
            add_counted(&mut rows, name, steal);
        }
        rows
    };
    assert_eq!(
        shown(Options { solaris: true, ..options() }, &[(rows(0.0), false)]),
        "\
2026-11-21 14:35:53  CPU     minf    mjf     xcal     intr     ithr      csw     icsw     migr     smtx    srw     syscl    usr    sys     wt    idl
2026-11-21 14:35:53    0   300.00   1.00    80.00   900.00        -  1200.00        -     9.00        -      -         -  16.00   7.00   7.00  70.00
2026-11-21 14:35:53    1   300.00   1.00    80.00   900.00        -  1200.00        -     9.00        -      -         -  16.00   7.00   7.00  70.00
2026-11-21 14:35:53  all   300.00   1.00    80.00   900.00        -  1200.00        -     9.00        -      -         -  16.00   7.00   7.00  70.00
"
    );
    let stolen =
        shown(Options { solaris: true, aggregate: true, ..options() }, &[(rows(0.0), false), (rows(3.0), false)]);
    let headers: Vec<_> =
        stolen.lines().filter(|line| line.contains("minf")).map(|line| line.contains(" st ")).collect();
    assert_eq!(headers, [false, true], "{stolen}");
    assert!(shown(options(), &[(rows(0.0), false)]).contains("%usr"), "not unless asked");
}
