//! `perf bench` and `hackbench`: how long tasks take that send messages to each other, system calls, futexes, copies in memory.
//!
//! Results are named by the benchmark as `perf bench` prints it, `sched/pipe`; several of one kind are numbered.

use super::names::{self, Name, Results, lower};
use crate::{Family, Format, Head, Input, Out, Sure, number, procps::moments::is_prompt};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "perf-bench",
    summary: "perf bench of sched, syscall, mem, futex, epoll and internals; hackbench",
    family: Family::Load,
    tables: &[],
    example: "\
# Running 'sched/pipe' benchmark:
# Executed 20000 pipe operations between two processes

     Total time: 0.156 [sec]

       7.812700 usecs/op
         127996 ops/sec
",
    sniff,
    read,
};

/// The time that all tasks took together.
const TOTAL: Name = lower("elapsed", "s");
/// The spread that is printed behind a figure.
const SPREAD: Name = lower("relative_sd", "%");

fn sniff(head: &Head<'_>) -> Sure {
    let perf = head.any(|line| benchmark(line).is_some());
    let hackbench = head.any(|line| hackbench(line).is_some()) && head.any(|line| line.starts_with("Time: "));
    Sure::Certain.when(perf || hackbench)
}

/// `# Running 'sched/pipe' benchmark:`
fn benchmark(line: &str) -> Option<&str> {
    line.trim().trim_start_matches("# ").strip_prefix("Running '")?.strip_suffix("' benchmark:")
}

/// `Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)`: the number of tasks.
fn hackbench(line: &str) -> Option<f64> {
    let rest = line.strip_prefix("Running in ")?;
    let (_, tasks) = rest.split_once(" file descriptors each (== ")?;
    number(tasks.strip_suffix(" tasks)")?)
}

struct Reader {
    name: String,
    /// A benchmark's line between its names and figures: the function that copies.
    part: String,
    results: Results,
    seen: Vec<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader { name: String::new(), part: String::new(), results: Results::default(), seen: Vec::new() };
    input.each_line(|at, line| {
        let line = line.trim();
        if !(line.is_empty() || reader.line(line, out) || is_prompt(line, "perf") || is_prompt(line, "hackbench")) {
            out.unknown(at, line, "no line of perf bench");
        }
    });
}

impl Reader {
    fn begin(&mut self, name: &str) {
        let before = self.seen.iter().filter(|seen| *seen == name).count();
        self.results = Results::nth(u32::try_from(before + 1).unwrap_or(u32::MAX));
        name.clone_into(&mut self.name);
        self.part.clear();
        if self.seen.len() < 1 << 12 {
            self.seen.push(name.to_owned());
        }
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(name) = benchmark(line) {
            self.begin(name);
        } else if let Some(tasks) = hackbench(line) {
            self.begin("hackbench");
            self.set(names::CLIENTS, tasks, out);
        } else if let Some(rest) = line.strip_prefix("# function '") {
            rest.split('\'').next().unwrap_or("").clone_into(&mut self.part);
        } else if let Some(remark) = line.strip_prefix("# ") {
            out.fact("perf bench", &self.operation(), remark);
        } else if line.starts_with("Run summary ") || line.starts_with("Each sender will pass ") {
            out.fact("perf bench", &self.operation(), line);
        } else if self.name.is_empty() {
            return false;
        } else {
            return self.figure(line, out) || is_known(line);
        }
        true
    }

    fn operation(&self) -> String {
        if self.part.is_empty() { self.name.clone() } else { format!("{} {}", self.name, self.part) }
    }

    fn set(&mut self, what: Name, value: impl Into<Option<f64>>, out: &mut Out<'_>) {
        let operation = self.operation();
        self.results.of(out, what, &operation, value);
    }

    fn figure(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match &words[..] {
            ["Total", "time:", value, "[sec]"] | ["Time:", value] => self.set(TOTAL, number(value), out),
            [value, "usecs/op"] => self.set(names::TIME_PER_OP, number(value).map(|us| us / 1e6), out),
            [value, "nsecs/op"] => self.set(names::TIME_PER_OP, number(value).map(|ns| ns / 1e9), out),
            [value, "ops/sec"] => self.set(names::THROUGHPUT, number(value), out),
            [value, unit @ ("GB/sec" | "MB/sec" | "KB/sec" | "B/sec")] => {
                // 1024 each, as perf counts.
                let scale = match *unit {
                    "GB/sec" => 1024f64.powi(3),
                    "MB/sec" => 1024f64.powi(2),
                    "KB/sec" => 1024.0,
                    _ => 1.0,
                };
                self.set(names::TRANSFER_BYTES_PER_S, number(value).map(|v| v * scale), out);
            }
            ["Averaged", value, "operations/sec", "(+-", spread, "total", "secs", "=", seconds] => {
                self.set(names::THROUGHPUT, number(value), out);
                self.set(SPREAD, number(spread.trim_end_matches(['%', ')', ','])), out);
                self.set(names::ELAPSED, number(seconds), out);
            }
            [what @ ("Wokeup" | "Requeued"), _, "of", _, .., "in", value, "ms", spread] => {
                let name = if *what == "Wokeup" { lower("wake_time", "ms") } else { lower("requeue_time", "ms") };
                self.set(name, number(value), out);
                self.set(SPREAD, number(spread.trim_matches(['(', '+', '-', ')', '%'])), out);
            }
            ["Average", "synthesis", "took:", value, "usec", ..] => {
                self.set(lower("synthesis_time", "s"), number(value).map(|us| us / 1e6), out);
            }
            ["Average", "data", "synthesis", "took:", value, "usec", ..] => {
                self.set(lower("data_synthesis_time", "s"), number(value).map(|us| us / 1e6), out);
            }
            _ => return false,
        }
        true
    }
}

/// What single threads and turns had, of which the mean follows; and remarks.
fn is_known(line: &str) -> bool {
    [
        "[thread ",
        "[Run ",
        "Average num. events:",
        "Average time per event",
        "Computing performance of",
        "synthesizing events",
    ]
    .iter()
    .any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read, load::tests::result};

    #[test]
    fn each_benchmark_has_its_results() {
        let text = "\
# Running 'sched/pipe' benchmark:
# Executed 20000 pipe operations between two processes

     Total time: 0.156 [sec]

       7.812700 usecs/op
         127996 ops/sec

# Running 'mem/memcpy' benchmark:
# function 'default' (Default memcpy() provided by glibc)
# Copying 1MB bytes ...

      19.5 GB/sec
# Running 'futex/hash' benchmark:
Averaged 1897472 operations/sec (+- 0.32%), total secs = 1
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 100 messages of 100 bytes
Time: 0.242
";
        assert_eq!(detect(&Head { text }).unwrap().name, "perf-bench");
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for (name, value) in [
            ("throughput[sched/pipe]", 127_996.0),
            ("transfer_bytes_per_s[mem/memcpy default]", 19.5 * 1024.0 * 1024.0 * 1024.0),
            ("throughput[futex/hash]", 1_897_472.0),
            ("relative_sd[futex/hash]", 0.32),
            ("elapsed[hackbench]", 0.242),
        ] {
            assert_eq!(result(&read.text, name), Some(value), "{name}\n{}", read.text);
        }
    }

    #[test]
    fn a_runners_words_are_nobodys() {
        for text in ["Running 5 km\nTime: 25:10\n", "Running in circles\nTime: 3\n", "# Running 'make' first\n"] {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
