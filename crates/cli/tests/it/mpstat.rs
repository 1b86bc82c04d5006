//! `fenxi watch mpstat` on the real kernel, on saved machines and on saved outputs.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use fs_err::{File, OpenOptions, os::unix::fs::FileExt};

use crate::support::{Fenxi, ended_by_pipe, skipped, text};

/// The fixtures of the importers.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures").join(name)
}

/// Output of `fenxi watch mpstat ARGS < file`.
fn saved(file: &Path, args: &[&str]) -> String {
    let fenxi = Fenxi::new();
    let mut command = fenxi.command(&[&["mpstat"], args].concat());
    let output = command.stdin(File::open(file).unwrap().into_parts().0).env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The lines of numbers: `name`, then the values.
fn numbers(text: &str, first_word: usize) -> Vec<(String, Vec<f64>)> {
    let lines = text.lines().map(|line| words(line).split_off(first_word.min(words(line).len())));
    let lines =
        lines.filter(|words| words.len() > 3 && words[1..].iter().all(|w| *w == "-" || w.parse::<f64>().is_ok()));
    lines.map(|w| (w[0].to_owned(), w[1..].iter().map(|w| w.parse().unwrap_or(f64::NAN)).collect())).collect()
}

#[test]
fn a_saved_output_with_a_date_on_every_line_becomes_one_line_in_floating_point_for_each_block() {
    let shown = saved(&fixture("solaris-mpstat/date-on-every-line.txt"), &["-a"]);
    assert!(shown.starts_with("2009-09-17 10:10:12 CPUs"), "{shown}");
    // Computed by hand: (544 + 144) / 2 page faults, (32 + 9) / 2 % user; then the two samples.
    let rows = numbers(&shown, 2);
    assert_eq!(
        rows.iter().map(|(cpus, v)| (cpus.as_str(), v[0], v[11])).collect::<Vec<_>>(),
        [("2", 344.0, 20.5), ("2", 513.0, 15.5), ("2", 472.5, 31.0)]
    );
    let skipped = saved(&fixture("solaris-mpstat/date-on-every-line.txt"), &["-a", "1", "1", "-f", "-"]);
    assert_eq!(numbers(&skipped, 2).len(), 2, "{skipped}");
    let one = saved(&fixture("solaris-mpstat/dates-cpu-removed.txt"), &["-P", "32"]);
    assert!(one.contains("<<processors removed: 1>>\n"), "{one}");
    let one = numbers(&one, 2);
    assert!(one.iter().all(|(name, _)| name == "32") && one.len() == 5, "{one:?}");
}

#[test]
fn what_the_known_script_printed_is_shown_again() {
    let file = fixture("solaris-mpstat/script-of-means.txt");
    let printed = fs_err::read_to_string(&file).unwrap();
    let shown = numbers(&saved(&file, &["-a"]), 0);
    // The rows have sums over the CPUs and their number: what is shown again are the means that were printed.
    for ((cpus, ours), (four, theirs)) in shown.iter().zip(numbers(&printed, 0)) {
        assert_eq!((cpus.as_str(), four.as_str()), ("4", "4"));
        assert_eq!(*ours, theirs);
    }
    assert_eq!(shown.len(), 3);
}

#[test]
fn a_saved_output_of_linux_is_aggregated_as_it_was_printed() {
    let file = fixture("mpstat/all-cpus.txt");
    let shown = saved(&file, &["-a"]);
    let printed = fs_err::read_to_string(&file).unwrap();
    let all = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().map(|l| l.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        lines.filter(|w| w.iter().any(|w| w == "all")).map(|w| w.split_at(w.len() - 10).1.to_vec()).collect()
    };
    assert!(!all(&shown).is_empty());
    for line in all(&shown) {
        assert!(all(&printed).contains(&line), "{line:?} was not printed:\n{printed}");
    }
    // The output of fenxi is an output of mpstat that it reads again.
    let dir = tempfile::tempdir().unwrap();
    let again = dir.path().join("again.txt");
    let every = saved(&file, &[]);
    fs_err::write(&again, &every).unwrap();
    assert_eq!(numbers(&saved(&again, &[]), 1), numbers(&every, 1), "{every}");
}

#[test]
fn what_is_no_output_of_mpstat_is_an_error_that_says_so() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x");
    fs_err::write(&file, "hello\nworld\n").unwrap();
    let message = fenxi.fails(1, &["mpstat", "-f", file.to_str().unwrap()]);
    assert!(message.contains("fenxi list formats"), "{message}");
    let iostat = fixture("netstat-s");
    let iostat = fs_err::read_dir(iostat)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "txt"));
    let message = fenxi.fails(1, &["mpstat", "-f", iostat.unwrap().to_str().unwrap()]);
    assert!(message.contains("which has no data for `fenxi watch mpstat`"), "{message}");
}

#[test]
fn wrong_options_exit_2() {
    let fenxi = Fenxi::new();
    for args in [&["-P", "5-2"][..], &["-P", "x"], &["-I", "SOME"], &["-y"], &["0"], &["1", "0"], &["--nonsense"]] {
        fenxi.fails(2, &[&["mpstat"], args].concat());
    }
    let message = fenxi.fails(2, &["mpstat", "-P", "0,70000", "1", "1"]);
    assert!(message.contains("there is no CPU 70000: this machine has"), "{message}");
}

#[test]
fn help_explains_columns_and_fits_a_narrow_terminal() {
    let fenxi = Fenxi::new();
    let help = fenxi.ok(&["mpstat", "--help"]);
    for word in ["%iowait", "%steal", "Examples:", "fenxi watch mpstat -P 0,2-5 1 10", "intr/s"] {
        assert!(help.contains(word), "{word}");
    }
    let output = fenxi.command(&["mpstat", "--help"]).env("COLUMNS", "40").output().unwrap();
    assert!(output.status.success());
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let fenxi = Fenxi::new();
    let mut child = fenxi.spawn(&["mpstat", "100ms"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("CPU)"), "{line}");
    ended_by_pipe(&child.wait_with_output().unwrap());
}

#[test]
fn what_is_saved_is_shown_again_alike() {
    let fenxi = Fenxi::new();
    let shown = fenxi.ok(&["mpstat", "-y", "100ms", "3", "--save", "before", "--quiet"]);
    let again = fenxi.ok(&["mpstat", "-y", "1", "--run", "before"]);
    // Averages are weighted by lengths of intervals, which a run keeps to the microsecond.
    let samples = |text: &str| numbers(text.split("Average:").next().unwrap(), 1);
    assert_eq!(samples(&again), samples(&shown), "{shown}\n{again}");
    assert_eq!(fenxi.ok(&["mpstat", "--run", "before", "--csv"]).lines().count(), 1 + samples(&shown).len());
}

/// Reads the block of averages since boot, so that what follows is a sample.
fn until_blank_lines(child: &mut Child, n: usize) -> (String, BufReader<std::process::ChildStdout>) {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let (mut text, mut blank) = (String::new(), 0);
    while blank < n {
        let begin = text.len();
        assert!(reader.read_line(&mut text).unwrap() > 0, "{text}");
        blank += usize::from(text[begin..].trim().is_empty());
    }
    (text, reader)
}

/// A saved /proc of 256 CPUs and 5000 processes, one of them with 40 threads.
struct Large {
    root: tempfile::TempDir,
}

const CPUS: usize = 256;
const PROCESSES: u32 = 5000;

impl Large {
    fn new() -> Large {
        let large = Large { root: tempfile::tempdir().unwrap() };
        large.put("stat", &Large::stat(false));
        large.put("uptime", "1000.00 900.00\n");
        let mut interrupts = (0..CPUS).map(|n| format!(" CPU{n}")).collect::<String>();
        for irq in 0..20 {
            let _ = write!(interrupts, "\n {irq}:{}  chip {irq}", " 5".repeat(CPUS));
        }
        large.put("interrupts", &(interrupts + "\n"));
        for pid in 1..=PROCESSES {
            let threads = if pid == 4242 { 40 } else { 1 };
            large.put(&format!("{pid}/stat"), &Large::task(pid, "quiet", 3, threads));
            large.put(&format!("{pid}/schedstat"), "30000000 5 9\n");
        }
        for tid in 4242..4282 {
            large.put(&format!("4242/task/{tid}/schedstat"), "1000000000 5 9\n");
            large.put(&format!("4242/task/{tid}/stat"), &Large::task(tid, "worker", 100, 40));
        }
        large
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.root.path().join("proc").join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    /// Changes a file that may be read meanwhile: content of the same length in one call.
    fn change(&self, path: &str, content: &str) {
        let file = OpenOptions::new().write(true).open(self.root.path().join("proc").join(path)).unwrap();
        file.write_all_at(content.as_bytes(), 0).unwrap();
    }

    /// `later`, CPU 200 was busy, all others were idle, and the last one went offline.
    fn stat(later: bool) -> String {
        let mut text = format!("cpu  {:08} 0 00000000 {:09} 0 0 0 0 0 0\n", 1000, 100_000);
        for n in 0..CPUS {
            let (busy, idle) = match (n, later) {
                (_, false) => (100, 1000),
                (200, true) => (200, 1000),
                (_, true) => (100, 1100),
            };
            let name = if n == CPUS - 1 && later { "xpu" } else { "cpu" };
            let _ = writeln!(text, "{name}{n} {busy:08} 0 00000000 {idle:09} 0 0 0 0 0 0");
        }
        text + "intr 1000\nctxt 5\nbtime 1700000000\nprocesses 7000\nprocs_running 1\nprocs_blocked 0\n"
    }

    fn task(id: u32, name: &str, ticks: u32, threads: u32) -> String {
        format!(
            "{id} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {ticks:09} 0 0 0 20 0 {threads} 0 77 1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 200 0 0 0\n"
        )
    }
}

#[test]
fn one_busy_cpu_of_256_and_one_thread_of_5000_processes_are_named() {
    let fenxi = Fenxi::new();
    let large = Large::new();
    let root = large.root.path().to_str().unwrap();
    // All files must have changed before the sample is taken, also where other tests have the CPUs for seconds.
    let mut child = fenxi.spawn(&["mpstat", "--busy", "--root", root, "5s", "1"]);
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(" 255 ") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the averages since boot end early");
    }
    large.change("4242/stat", &Large::task(4242, "quiet", 150, 40));
    large.change("4242/task/4250/stat", &Large::task(4250, "worker", 250, 40));
    large.change("4242/task/4250/schedstat", "9500000000 5 9\n");
    large.change("stat", &Large::stat(true));
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sample = rest.split("Average:").next().unwrap();
    let busy: Vec<_> = numbers(sample, 1).into_iter().map(|(name, values)| (name, values[0])).collect();
    assert_eq!(busy, [("all".to_owned(), 0.39), ("200".to_owned(), 100.0)], "{rest}");
    assert!(sample.contains("<<processors removed: 255>>"), "{rest}");
    assert!(sample.contains("maxed out: CPU 200 at 100.0 %, the machine at 0.4 %: thread 4242/4250 worker"), "{rest}");
}

#[test]
fn interrupts_of_256_cpus_have_a_line_each() {
    let fenxi = Fenxi::new();
    let large = Large::new();
    let shown = fenxi.ok(&["mpstat", "-I", "CPU", "--root", large.root.path().to_str().unwrap()]);
    let rows = numbers(&shown, 1);
    assert_eq!((rows.len(), rows[255].0.as_str(), rows[255].1.len()), (256, "255", 20), "{shown}");
    let few = fenxi.ok(&["mpstat", "-P", "3,250-", "-I", "SUM", "--root", large.root.path().to_str().unwrap()]);
    assert_eq!(few.lines().filter(|l| words(l).len() == 3 && l.ends_with(char::is_numeric)).count(), 7, "{few}");
}

/// Keeps one CPU busy until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn new() -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop()
            }
        });
        Load(stop)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Output of fenxi and sysstat for the same 5 seconds; None without sysstat.
fn same_seconds() -> Option<[String; 2]> {
    let fenxi = Fenxi::new();
    let mut ours = fenxi.spawn(&["mpstat", "-u", "-I", "SUM", "5", "1"]);
    // The averages since boot are printed at the beginning of the interval.
    let (_, mut reader) = until_blank_lines(&mut ours, 2);
    let mut theirs = Command::new("mpstat");
    theirs.args(["-u", "-I", "SUM", "-P", "ALL", "5", "1"]).env("LC_ALL", "C").stdout(Stdio::piped());
    let theirs = theirs.spawn().ok();
    let mut text_of_ours = String::new();
    reader.read_to_string(&mut text_of_ours).unwrap();
    assert!(ours.wait().unwrap().success());
    let averages = |text: &str| text[text.find("Average:").unwrap()..].to_owned();
    Some([averages(&text_of_ours), averages(&text(&theirs?.wait_with_output().unwrap().stdout))])
}

/// How far apart two outputs are: the most by which a share differs, and the most (relative) by which a rate does.
fn apart([ours, theirs]: &[String; 2]) -> (f64, f64) {
    let lines = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().map(|l| l.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>());
        lines.filter(|w| w.len() > 1).collect()
    };
    let (ours, theirs) = (lines(ours), lines(theirs));
    assert_eq!(ours.len(), theirs.len(), "{ours:?}\n{theirs:?}");
    let (mut share, mut rate) = (0.0_f64, 0.0_f64);
    for (a, b) in ours.iter().zip(&theirs) {
        assert_eq!((&a[0], a.len()), (&b[0], b.len()), "{a:?} {b:?}");
        for (x, y) in a[1..].iter().zip(&b[1..]) {
            let (Ok(x), Ok(y)) = (x.parse::<f64>(), y.parse::<f64>()) else {
                assert_eq!(x, y);
                continue;
            };
            if a.len() == 2 {
                rate = rate.max((x - y).abs() / x.max(y).max(50.0))
            } else {
                share = share.max((x - y).abs())
            }
        }
    }
    (share, rate)
}

#[test]
fn it_agrees_with_sysstat_over_the_same_five_seconds() {
    let load = Load::new();
    // Other work on the machine can delay the begin of one of them: the best of three counts.
    for turn in 1..=3 {
        let Some(texts) = same_seconds() else { return skipped("agreement with sysstat", "mpstat is not installed") };
        let (share, rate) = apart(&texts);
        eprintln!("turn {turn}: shares differ by {share:.2} points, rates by {:.2} % at most", 100.0 * rate);
        if share <= 0.5 && rate <= 0.03 {
            return;
        }
        assert!(turn < 3, "{}\n{}", texts[0], texts[1]);
    }
    drop(load);
}
