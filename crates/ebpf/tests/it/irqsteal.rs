//! Interrupts are counted as /proc counts them, and charged to the task that they held up.

use std::{collections::BTreeMap, net::UdpSocket, process::Command, thread, time::Duration};

use fenxi_ebpf::{
    Tracked,
    irqsteal::{Detail, Irqsteal},
};
use fenxi_model::{Place, Rows, RowsOf, catalog::pin as c, place::F64};

use crate::{
    observed::{Observed, lost},
    util::{Hog, cpus},
};

/// Numbers of /proc/interrupts and /proc/softirqs by name and CPU. Of interrupts with a number the name is the
/// last word in the line: their only driver.
fn counts() -> BTreeMap<(String, usize), u64> {
    let mut counts = BTreeMap::new();
    for file in ["/proc/interrupts", "/proc/softirqs"] {
        let text = fs_err::read_to_string(file).unwrap();
        let mut lines = text.lines();
        let cpus: Vec<usize> = lines.next().unwrap().split_whitespace().map(|cpu| cpu[3..].parse().unwrap()).collect();
        for line in lines {
            let (label, rest) = line.trim_start().split_once(':').unwrap();
            let words: Vec<&str> = rest.split_whitespace().collect();
            let numbered = label.parse::<u32>().is_ok();
            let name = if numbered { words[words.len() - 1] } else { label };
            for (cpu, word) in cpus.iter().zip(&words) {
                *counts.entry((name.to_owned(), *cpu)).or_insert(0) += word.parse::<u64>().unwrap();
            }
        }
    }
    counts
}

fn table(rows: &Rows) -> RowsOf<'_, c::Schema> {
    rows.of(&c::TABLE).unwrap()
}

/// Loopback traffic: soft interrupts that the sender causes itself.
fn send_to_myself(n: usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(socket.local_addr().unwrap()).unwrap();
    let mut bytes = [0; 8];
    for _ in 0..n {
        socket.send(b"to me").unwrap();
        socket.recv(&mut bytes).unwrap();
    }
}

/// Whether what was seen lies between what /proc counted during the observation and around it.
fn agrees(detail: Detail, names: &[&str]) {
    let outer = counts();
    let Some(mut observed) = Observed::begin(&Irqsteal { tracked: Tracked::All, detail }) else { return };
    let inner = counts();
    send_to_myself(2000);
    thread::sleep(Duration::from_millis(700));
    let inner_end = counts();
    let all = observed.read();
    let outer_end = counts();
    assert_eq!(lost(all, ""), 0, "losses are reported");
    let rows = table(all);
    let mut seen: BTreeMap<(String, usize), u64> = BTreeMap::new();
    for row in (0..rows.n_rows()).filter(|row| rows.str(*row, c::driver).is_some()) {
        let cpu = rows.str(row, c::cpu).unwrap().parse().unwrap();
        *seen.entry((rows.str(row, c::driver).unwrap().to_owned(), cpu)).or_default() +=
            rows.f64(row, c::events).unwrap() as u64;
    }
    let mut compared = 0;
    for (key, end) in &outer_end {
        let device = key.0.contains('-') || key.0.starts_with("tty") || key.0.starts_with("nvme");
        if !device && !names.contains(&key.0.as_str()) {
            continue;
        }
        let (smallest, most) = (inner_end[key] - inner[key], end - outer[key]);
        let seen = seen.get(key).copied().unwrap_or(0);
        compared += u32::from(most > 0);
        if most > 0 {
            eprintln!("{} on CPU {}: {seen} seen, /proc has {smallest} to {most}", key.0, key.1);
        }
        // Some are at work when a file is read: /proc counts them as they begin, the observer as they end.
        // Some are missing, more of them where 1,500 processes begin in a second (10 of 625, 4 of 213), few otherwise (3 of
        // 27). The programs did not run for them, though the kernel counts none as skipped: what they counted in a plain
        // counter was in the map.
        let few = 5 + most * 3 / 100;
        assert!(seen + few >= smallest && seen <= most + few, "{key:?}: {seen} seen, /proc has {smallest} to {most}");
    }
    assert!(compared > 2, "nothing happened");
}

const SOFT: [&str; 9] = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "TASKLET", "SCHED", "HRTIMER", "RCU"];

#[test]
fn interrupts_are_counted_as_proc_counts_them() {
    let hard: &[&str] = if cfg!(target_arch = "x86_64") { &["LOC", "RES", "CAL", "IWI"] } else { &[] };
    agrees(Detail::Processes, &[&SOFT, hard].concat());
}

#[test]
fn at_the_least_cost_they_are_counted_all_the_same() {
    agrees(Detail::Light, &SOFT);
}

#[test]
fn loopback_is_one_s_own_doing() {
    let all = Irqsteal { tracked: Tracked::Processes(vec![std::process::id()]), detail: Detail::Processes };
    let Some(mut observed) = Observed::begin(&all) else { return };
    send_to_myself(5000);
    let rows = table(observed.read());
    let events = |class: &str| -> f64 {
        let of_class =
            |row: &usize| rows.str(*row, c::driver) == Some("NET_RX") && rows.str(*row, c::class) == Some(class);
        (0..rows.n_rows()).filter(of_class).filter_map(|row| rows.f64(row, c::events)).sum()
    };
    let (own, soft) = (events("self"), events("soft"));
    eprintln!("NET_RX: {own} self, {soft} soft");
    assert!(own >= 4500.0, "{own} of 5000 packets were found to be one's own doing");
    assert!(soft <= 0.1 * own, "{soft}");
}

/// The driver and CPU of the interrupt that direct reads of `file` raise.
fn interrupt_of(file: &std::path::Path, reader: usize) -> Option<(String, usize, u64)> {
    let before = counts();
    read_directly(file, reader);
    let after = counts();
    let grown = after.into_iter().filter(|((name, _), _)| name.contains('-') || name.starts_with("nvme"));
    let grown = grown.map(|(key, n)| (n - before.get(&key).copied().unwrap_or(0), key));
    grown.max().filter(|(n, _)| *n >= READS / 4).map(|(n, (name, cpu))| (name, cpu, n))
}

const READS: u64 = 4000;

fn read_directly(file: &std::path::Path, cpu: usize) -> bool {
    let mut dd = Command::new("taskset");
    dd.args(["-c", &cpu.to_string(), "dd", "iflag=direct", "of=/dev/null", "bs=4096", "status=none"]);
    dd.arg(format!("count={READS}")).arg(format!("if={}", file.display())).status().is_ok_and(|s| s.success())
}

#[test]
fn disk_interrupts_are_charged_to_the_hog_on_their_cpu() {
    let cpus = cpus();
    // Not below /tmp, which can be a file system in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("read");
    fs_err::write(&file, vec![7; READS as usize * 4096]).unwrap();
    fs_err::File::open(&file).unwrap().sync_all().unwrap();
    let Some((driver, cpu, _)) = interrupt_of(&file, cpus[0]).filter(|_| cpus.len() > 1) else {
        eprintln!("SKIPPED pinning by disk I/O: reads here raise no interrupt, or there is one CPU");
        return;
    };
    let reader = cpus.iter().copied().find(|other| *other != cpu).unwrap();
    let hog = Hog::on(cpu);
    thread::sleep(Duration::from_millis(200));
    let Some(mut observed) = Observed::begin(&Irqsteal::ALL) else { return };
    let began = std::time::Instant::now();
    assert!(read_directly(&file, reader));
    let elapsed = began.elapsed().as_secs_f64();
    let rows = table(observed.read());
    let of = |pid: u32, driver: Option<&str>, place: Place<c::Schema, F64>| -> f64 {
        let wanted = |row: &usize| {
            rows.i64(*row, c::pid) == Some(i64::from(pid))
                && driver.is_none_or(|driver| rows.str(*row, c::driver) == Some(driver))
        };
        (0..rows.n_rows()).filter(wanted).filter_map(|row| rows.f64(row, place)).sum()
    };
    let all: f64 = (0..rows.n_rows())
        .filter(|row| rows.str(*row, c::driver) == Some(&driver))
        .filter_map(|row| rows.f64(row, c::events))
        .sum();
    let hog_hit = of(hog.pid(), Some(&driver), c::events);
    let pinned = of(hog.pid(), Some(&driver), c::pinned_s);
    let ran = of(hog.pid(), None, c::run_s);
    eprintln!(
        "{driver} on CPU {cpu}: {all} interrupts, {hog_hit} hit the hog and took {:.2} ms, BLOCK {} and {:.2} ms; it ran {ran:.3} s",
        pinned * 1e3,
        of(hog.pid(), Some("BLOCK"), c::events),
        1e3 * of(hog.pid(), Some("BLOCK"), c::pinned_s),
    );
    assert!(all >= READS as f64 / 4.0, "{all}");
    // On a machine that others use, too, it is hit as often as it is the one that runs there.
    let share = (ran / elapsed).min(1.0);
    assert!(hog_hit >= 0.3 * share * all, "the hog, with {share} of the CPU, was hit by {hog_hit} of {all}");
    assert!(pinned > 0.0 && pinned < 0.05 * hog_hit, "{pinned} s for {hog_hit}");
    assert!(ran > 0.0, "the hog ran");
}

#[test]
fn a_flow_names_the_handler_and_what_followed() {
    let Some(mut observed) = Observed::begin(&Irqsteal { tracked: Tracked::All, detail: Detail::Flow }) else { return };
    thread::sleep(Duration::from_millis(500));
    let rows = table(observed.read());
    let text = |row: usize, place| rows.str(row, place);
    let after_timer = (0..rows.n_rows()).any(|row| text(row, c::after) == Some("LOC"));
    assert!(after_timer || cfg!(not(target_arch = "x86_64")), "no soft interrupt followed the timer's");
    for row in (0..rows.n_rows()).filter(|row| text(*row, c::driver).is_some_and(|name| name.contains('-'))) {
        let handler = text(row, c::handler);
        eprintln!("{:?}: {handler:?}", text(row, c::driver));
        assert!(handler.is_some_and(|name| !name.is_empty()), "{:?}", text(row, c::driver));
    }
}
