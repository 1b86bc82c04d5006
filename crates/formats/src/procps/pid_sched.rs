//! /proc/PID/sched and /proc/PID/schedstat of threads, one after another, once or again and again.
//!
//! Both are of one thread: /proc/PID/sched of the main one. What it used of CPUs, waited for one, and how often it switched
//! become rates of two readings where the time between them is known. The lines of sched are metrics by their own names;
//! times are in milliseconds. The three numbers of schedstat say nothing without their file's name above or before them.

use fenxi_model::{
    Micros,
    catalog::{metric, thread},
};

use rustc_hash::FxHashSet;

use super::moments::{Moments, is_prompt};
use crate::{
    Family, Format, Head, Input, Out, Sure, generic::labels::Labels, linux::counters::Counters, number, stamp,
};

/// Importer for saved /proc/PID/sched and /proc/PID/schedstat (with their names), also of PID/task/TID.
pub static FORMAT: Format = Format {
    name: "pid-sched",
    summary: "saved /proc/PID/sched and /proc/PID/schedstat (with their names), also of PID/task/TID",
    family: Family::Linux,
    tables: &[&thread::TABLE, &metric::TABLE],
    example: "\
mariadbd (3094, #threads: 42)
-------------------------------------------------------------------
se.exec_start                                :       6665733.294608
se.sum_exec_runtime                          :             1.295468
nr_voluntary_switches                        :                    0
",
    sniff,
    read,
};

/// Counters of sched that become columns.
const RUNTIME: &[&str] = &["se.sum_exec_runtime"];
const WAITED: &[&str] = &["wait_sum", "se.statistics.wait_sum"];
const VOLUNTARY: &[&str] = &["nr_voluntary_switches"];
const INVOLUNTARY: &[&str] = &["nr_involuntary_switches"];

/// `mariadbd (3094, #threads: 42)`
fn heading(line: &str) -> Option<(&str, i64, i64)> {
    let (comm, rest) = line.strip_suffix(')')?.rsplit_once(" (")?;
    let (tid, threads) = rest.split_once(", #threads: ")?;
    Some((comm, tid.parse().ok()?, threads.parse().ok()?))
}

/// The process and thread of a path, as far as it has them; and what follows it.
struct Path<'l> {
    pid: Option<i64>,
    tid: Option<i64>,
    schedstat: bool,
    rest: &'l str,
}

/// `==> /proc/3094/schedstat <==`, `/proc/3094/task/3095/sched:`, `/proc/3094/schedstat:135863 1954453 2`
fn path(line: &str) -> Option<Path<'_>> {
    let at = line.find("/proc/")?;
    let own = line[..at].bytes().all(|b| b" =>#*-[:".contains(&b)) || line[..at].trim_end().ends_with("cat");
    let end = line[at..].find(|c: char| c.is_ascii_whitespace() || c == ':').map_or(line.len(), |n| at + n);
    let mut parts = line[at + "/proc/".len()..end].split('/');
    let pid: Option<i64> = parts.next().filter(|_| own)?.parse().ok();
    let (mut tid, mut name) = (pid, parts.next()?);
    if name == "task" {
        (tid, name) = (parts.next()?.parse().ok(), parts.next()?);
    }
    let schedstat = match name {
        "schedstat" => true,
        "sched" => false,
        _ => return None,
    };
    let rest = line[end..].trim_start_matches(':').trim().trim_end_matches(['<', '=', '#', '*', '-', ']', ' ']);
    parts.next().is_none().then_some(Path { pid, tid, schedstat, rest })
}

/// `135863 1954453 2`: nanoseconds on a CPU, nanoseconds waiting for one, and times that it got one.
fn triple(line: &str) -> Option<[f64; 3]> {
    let mut words = line.split_ascii_whitespace();
    let digits = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let mut next = || words.next().filter(|word| digits(word)).and_then(number);
    let all = [next()?, next()?, next()?];
    words.next().is_none().then_some(all)
}

/// `se.sum_exec_runtime      :         1.295468`, with or without blanks around the colon.
fn pair(line: &str) -> Option<(&str, f64, &'static str)> {
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    let word = !name.is_empty() && !name.contains(' ') && name.starts_with(|c: char| c.is_ascii_alphabetic());
    Some((name, number(value).filter(|_| word)?, if value.contains('.') { "ms" } else { "" }))
}

fn sniff(head: &Head<'_>) -> Sure {
    let lines: Vec<&str> = head.lines().take(80).collect();
    let own = lines.windows(3).any(|lines| {
        heading(lines[0]).is_some()
            && lines[1].starts_with("-----")
            && pair(lines[2]).is_some_and(|p| p.0 == "se.exec_start")
    });
    let named = |lines: &[&str]| path(lines[0]).is_some_and(|path| path.schedstat && triple(lines[1]).is_some());
    let grep = |line: &&str| path(line).is_some_and(|path| path.schedstat && triple(path.rest).is_some());
    Sure::Certain.when(own || lines.windows(2).any(named) || lines.iter().any(grep))
}

/// One reading of a thread.
#[derive(Default)]
struct Task {
    pid: Option<i64>,
    tid: Option<i64>,
    comm: Option<String>,
    schedstat: bool,
    /// Names, values and units.
    values: Vec<(String, f64, &'static str)>,
}

impl Task {
    fn value(&self, names: &[&str]) -> Option<f64> {
        self.values.iter().find(|(name, ..)| names.contains(&name.as_str())).map(|(_, value, _)| *value)
    }
}

struct Reader {
    moments: Moments,
    counters: Counters,
    now: Option<(Micros, Option<f64>)>,
    /// Files of this moment that were read: when the first comes again, so does the moment.
    first: Option<(Option<i64>, bool)>,
    /// Threads that have a row at this moment: both files of one say the same.
    rows: FxHashSet<Option<i64>>,
    /// The path of the file to come.
    named: Option<(Option<i64>, Option<i64>, bool)>,
    task: Option<Task>,
}

/// Threads of one moment.
const MOST_THREADS: usize = 1 << 18;
/// Lines of one reading; a kernel has some fifty.
const MOST_LINES: usize = 400;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        counters: Counters::default(),
        now: None,
        first: None,
        rows: FxHashSet::default(),
        named: None,
        task: None,
    };
    input.each_line(|number, line| {
        let line = line.trim();
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of /proc/PID/sched or schedstat");
        }
    });
    reader.end(out);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(path) = path(line) {
            self.end(out);
            self.named = Some((path.pid, path.tid, path.schedstat));
            return path.rest.is_empty() || path.schedstat && self.schedstat(path.rest, out);
        }
        if let Some((comm, tid, threads)) = heading(line) {
            self.end(out);
            let named = self.named.take().and_then(|(pid, ..)| pid);
            let pid = named.or((threads == 1).then_some(tid));
            self.task = Some(Task { pid, tid: Some(tid), comm: Some(comm.to_owned()), ..Task::default() });
            return true;
        }
        if self.schedstat(line, out) || line.bytes().all(|b| b == b'-') {
            return true;
        }
        if let (Some(task), Some((name, value, unit))) = (&mut self.task, pair(line)) {
            if task.values.len() < MOST_LINES {
                task.values.push((name.to_owned(), value, unit));
            }
            return true;
        }
        // Where pages of memory are: not about time.
        if line.starts_with("current_node=") || line.starts_with("numa_faults ") {
            return true;
        }
        if stamp(line).is_some_and(|stamp| stamp.rest.is_empty()) {
            self.end(out);
            (self.now, self.first) = (None, None);
            self.moments.take(line, out);
            return true;
        }
        is_prompt(line, "cat")
    }

    /// The line of a schedstat whose name was above or before it.
    fn schedstat(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((pid, tid, true)) = self.named else { return false };
        let Some([ran, waited, times]) = triple(line) else { return false };
        self.named = None;
        let values = vec![
            ("se.sum_exec_runtime".to_owned(), ran / 1e6, "ms"),
            ("wait_sum".to_owned(), waited / 1e6, "ms"),
            ("timeslices".to_owned(), times, ""),
        ];
        self.task = Some(Task { pid, tid, comm: None, schedstat: true, values });
        self.end(out);
        true
    }

    /// A reading is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        let Some(task) = self.task.take() else { return };
        let key = (task.tid, task.schedstat);
        if self.first == Some(key) || self.rows.len() >= MOST_THREADS {
            (self.now, self.first) = (None, None);
        }
        if self.first.is_none() {
            self.first = Some(key);
            self.rows.clear();
        }
        let (t, dt) = *self.now.get_or_insert_with(|| self.moments.next(out));
        let mut labels = Labels::of("tid", &task.tid.map_or_else(|| "self".to_owned(), |tid| tid.to_string()));
        labels.push("comm", task.comm.as_deref().unwrap_or(""));
        let file = if task.schedstat { "schedstat" } else { "sched" };
        let measured = self.moments.is_measured();
        let counters = &mut self.counters;
        let mut rate = |names: &[&str]| {
            let value = task.value(names)?;
            counters.rate(&format!("{file} {} {}", labels.text(), names[0]), t, value).filter(|_| measured)
        };
        // Milliseconds a second are tenths of a percent.
        let (cpu, waited) = (rate(RUNTIME).map(|ms| ms / 10.0), rate(WAITED).map(|ms| ms / 10.0));
        let (voluntary, involuntary) = (rate(VOLUNTARY), rate(INVOLUNTARY));
        if [cpu, waited, voluntary, involuntary].iter().any(Option::is_some) && self.rows.insert(task.tid) {
            let mut row = out.row(&thread::TABLE, t, dt);
            row.i64(thread::pid, task.pid).i64(thread::tid, task.tid).str(thread::comm, task.comm.as_deref());
            row.f64(thread::cpu, cpu).f64(thread::run_queue_wait, waited);
            row.f64(thread::voluntary_switches_per_s, voluntary);
            row.f64(thread::involuntary_switches_per_s, involuntary);
            row.str(thread::cpu_measured, cpu.map(|_| "schedstat"));
        }
        for (name, value, unit) in &task.values {
            out.metric(t, None, &format!("pid-sched.{name}"), labels.text(), *value, unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn two_readings_give_shares_of_a_cpu() {
        let sched = |ms: f64, wait: f64, n: u32| {
            format!(
                "db (7, #threads: 1)\n----------\nse.exec_start : 1.0\nse.sum_exec_runtime : {ms}\nwait_sum : {wait}\nnr_voluntary_switches : {n}\n"
            )
        };
        let text = format!("1795249143\n{}1795249145\n{}", sched(100.5, 10.0, 4), sched(600.5, 210.0, 24));
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        // 500 ms of 2 s on a CPU, 200 ms waiting, 20 switches.
        assert!(read.text.contains("\t7\t7\tdb\t25\t10\t10\tschedstat\n"), "{}", read.text);
    }

    #[test]
    fn schedstat_has_its_name_above_or_before_it() {
        let above = "1795249143\n==> /proc/7/schedstat <==\n1000000000 0 5\n\n==> /proc/7/task/8/schedstat <==\n5 6 7\n1795249144\n==> /proc/7/schedstat <==\n1250000000 500000000 9\n";
        let before =
            "1795249143\n/proc/7/schedstat:1000000000 0 5\n1795249144\n/proc/7/schedstat:1250000000 500000000 9\n";
        for text in [above, before] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::Certain, "{text}");
            let read = read(&FORMAT, text.as_bytes());
            assert_eq!(read.tally.notes, 0, "{}", read.text);
            assert!(read.text.contains("\t7\t7\t25\t50\tschedstat\n"), "{}", read.text);
        }
    }

    #[test]
    fn three_numbers_are_nobodys() {
        for text in [
            "135863 1954453 2\n",
            "see /proc/7/schedstat\n1 2 3\n",
            "a (1, #threads: 1)\n---\nx : 1\n",
            "==> /proc/7/stat <==\n1 2 3\n",
        ] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
