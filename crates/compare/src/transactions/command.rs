//! Parts of the elapsed time of recorded commands: CPU time, and time in run queues and in block I/O, as the kernel
//! counts them; for the rest, what samples of the command's threads saw.
//!
//! Several threads at work share the time that passes: a part is what it takes of all threads' time. So the parts of a command of four
//! threads on four CPUs are those of one of them, and four threads that take turns on a lock wait for three quarters of the time.

use std::collections::BTreeMap;

use fenxi_analyze::{AT_WORK, RunSummary, waits};
use fenxi_query::{Engine, Part, QueryError, Scope};

use crate::group::Counted;

const SQL: &str = include_str!("command.sql");
/// Fewer samples than these give no share.
const LEAST_LOOKS: f64 = 5.0;
/// Two accounts of one time differ by less.
const MORE: f64 = 1.05;
/// Looks may say by so many standard deviations too little.
const DEVIATIONS: f64 = 3.0;
/// Waits that the kernel's account of block I/O has, the first one more than others.
const BLOCK: [&str; 3] = ["disk", "flush", "dirty pages"];

/// Finds out for each run of a command what it waited for; `summaries` are those of `runs`.
///
/// # Errors
/// When the engine or the store fails.
pub(super) fn add(engine: &Engine, runs: &[Counted], summaries: &mut [RunSummary]) -> Result<(), QueryError> {
    for ((entry, window), summary) in runs.iter().zip(summaries) {
        let seconds = |name: &str| summary.results.get(name).filter(|o| o.unit == "s").map(|o| o.value);
        let Some(elapsed) = seconds("elapsed") else { continue };
        if entry.manifest.file("thread_wait").is_none() || summary.transactions.is_some() {
            continue;
        }
        let since_begin = |micros: i64| Some(micros.saturating_sub(entry.manifest.start.0));
        let part = window.as_ref().map(|w| Part { from_us: since_begin(w.start.0), to_us: since_begin(w.end.0) });
        let scope = Scope { part, ..Scope::of([entry.manifest.id.clone()]) };
        let answer = engine.ours(SQL, &[], &scope)?;
        let numbers = |column: &str| answer.f64s(column).into_iter().map(|v| v.unwrap_or(0.0)).collect::<Vec<f64>>();
        let first = |column: &str| numbers(column).first().copied().unwrap_or(0.0);
        let of_command = ["user_time", "system_time"].map(|name| seconds(name).unwrap_or(0.0));
        let of_processes = [first("user_s"), first("system_s")];
        // Processes that no parent waited for (alive, or killed with their parent) are in no account but their own.
        let is_more = of_processes.iter().sum::<f64>() > MORE * of_command.iter().sum::<f64>();
        let [user_s, system_s] = if is_more { of_processes } else { of_command };
        let times = numbers("elapsed_s").into_iter().zip(numbers("thread_s"));
        let waited = answer.strings("wait").into_iter().zip(times);
        let waited = waited.filter_map(|(wait, (elapsed_s, thread_s))| Some((wait?, Look { elapsed_s, thread_s })));
        let seen = Seen {
            elapsed_s: elapsed,
            user_s,
            system_s,
            queue_s: first("queue_s"),
            block_s: first("block_s"),
            seen_s: first("seen_s"),
            looks: first("n_looks"),
            waits: waited.collect(),
        };
        if seen.looks >= LEAST_LOOKS {
            summary.waits = seen.parts();
        }
    }
    Ok(())
}

/// Measured times of a command.
#[derive(Clone, Debug, Default)]
struct Seen {
    elapsed_s: f64,
    /// Of all threads: CPU time, time in run queues, and in block I/O where the kernel counts it.
    user_s: f64,
    system_s: f64,
    queue_s: f64,
    block_s: f64,
    /// Seconds that looks stand for, and their number.
    seen_s: f64,
    looks: f64,
    waits: BTreeMap<String, Look>,
}

/// Time of a wait as looks saw it: seconds of the time that passed, and of all threads.
#[derive(Clone, Copy, Debug)]
struct Look {
    elapsed_s: f64,
    thread_s: f64,
}

impl Look {
    /// Seconds of the time that passed for a second of one of those threads: 1 where each is alone.
    fn of_elapsed(self) -> f64 {
        if self.thread_s > 0.0 { self.elapsed_s / self.thread_s } else { 1.0 }
    }
}

impl Seen {
    /// Seconds of the elapsed time by what they went to.
    fn parts(&self) -> BTreeMap<String, f64> {
        let mut parts = BTreeMap::new();
        let ran = self.user_s + self.system_s + self.queue_s;
        let scale = self.elapsed_s / self.seen_s.max(1e-9);
        let look = self.waits.get(waits::RUN);
        // Threads that run for moments are seen at it too often. What they ran is still enough for the time in which some did.
        let at_least = look.map_or(0.0, |look| (scale * look.elapsed_s).min(ran));
        let running = (ran * look.map_or(1.0, |look| look.of_elapsed())).max(at_least).min(self.elapsed_s);
        let known = [(waits::USER, self.user_s), (waits::SYSTEM, self.system_s), (waits::RUN_QUEUE, self.queue_s)];
        parts.extend(known.map(|(name, s)| (name.to_owned(), if ran > 0.0 { running * s / ran } else { 0.0 })));
        let rest = self.elapsed_s - running;
        let waited = || self.waits.iter().filter(|(wait, _)| *wait != waits::RUN);
        let sum = scale * waited().map(|(_, look)| look.elapsed_s).sum::<f64>();
        // Samples that saw hardly any wait do not explain a long rest.
        let p = (sum / self.elapsed_s).clamp(0.0, 1.0);
        let doubt = self.elapsed_s * (DEVIATIONS * (p * (1.0 - p) / self.looks).sqrt() + 1.0 / self.looks);
        let fit = if sum > 0.0 { rest.min(sum + doubt) / sum } else { 0.0 };
        parts.extend(waited().map(|(wait, look)| (wait.clone(), scale * look.elapsed_s * fit)));
        self.at_least_block_io(&mut parts, rest);
        let threads = self.waits.values().map(|look| look.thread_s).sum::<f64>() / self.seen_s.max(1e-9);
        parts.insert(AT_WORK.to_owned(), threads);
        parts
    }

    /// Waits for disks are no less than what the kernel counts; what they are short of is taken off the others that were sampled.
    fn at_least_block_io(&self, parts: &mut BTreeMap<String, f64>, rest: f64) {
        let seen: f64 = BLOCK.iter().filter_map(|wait| parts.get(*wait)).sum();
        let of_elapsed = self.waits.get(BLOCK[0]).map_or(1.0, |look| look.of_elapsed());
        let short = (self.block_s * of_elapsed).min(rest) - seen;
        if short <= 0.0 {
            return;
        }
        let is_other = |wait: &str| !waits::COUNTED.contains(&wait) && !BLOCK.contains(&wait);
        let others: f64 = parts.iter().filter(|(wait, _)| is_other(wait)).map(|(_, s)| s).sum();
        // The residual first: it is no thread's.
        let taken = (short - (rest - seen - others)).clamp(0.0, others);
        for (_, s) in parts.iter_mut().filter(|(wait, _)| is_other(wait)) {
            *s *= 1.0 - taken / others.max(1e-12);
        }
        *parts.entry(BLOCK[0].to_owned()).or_insert(0.0) += short;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(elapsed_s: f64, cpu: [f64; 3], waits: &[(&str, f64, f64)]) -> Seen {
        let [user_s, system_s, queue_s] = cpu;
        let look = |(wait, elapsed_s, thread_s): &(&str, f64, f64)| {
            ((*wait).to_owned(), Look { elapsed_s: *elapsed_s, thread_s: *thread_s })
        };
        let seen_s = waits.iter().map(|(_, s, _)| s).sum();
        let waits = waits.iter().map(look).collect();
        Seen { elapsed_s, user_s, system_s, queue_s, block_s: 0.0, seen_s, looks: 100.0, waits }
    }

    /// The parts that take time, in milliseconds.
    fn parts(seen: &Seen) -> Vec<(String, i64)> {
        let all = seen.parts().into_iter().filter(|(wait, _)| wait != AT_WORK);
        all.map(|(wait, s)| (wait, (s * 1e3).round() as i64)).filter(|(_, ms)| *ms > 0).collect()
    }

    fn expected(list: &[(&str, i64)]) -> Vec<(String, i64)> {
        list.iter().map(|(wait, ms)| ((*wait).to_owned(), *ms)).collect()
    }

    #[test]
    fn of_one_thread_cpu_time_is_exact_and_looks_divide_the_rest() {
        // Looks see 55 % running; the kernel counts 5 s of 10.
        let seen = seen(10.0, [4.0, 0.5, 0.5], &[("run", 5.5, 5.5), ("sleep", 3.0, 3.0), ("receive", 1.5, 1.5)]);
        let list = [("receive", 1667), ("run queue", 500), ("sleep", 3333), ("system", 500), ("user", 4000)];
        assert_eq!(parts(&seen), expected(&list));
    }

    #[test]
    fn of_threads_that_take_turns_on_a_lock_three_of_four_wait() {
        // Ten seconds of which each look sees one running and three waiting.
        let seen = seen(10.0, [9.0, 1.0, 0.0], &[("run", 2.5, 10.0), ("lock", 7.5, 30.0)]);
        assert_eq!(parts(&seen), expected(&[("lock", 7500), ("system", 250), ("user", 2250)]));
        assert_eq!(seen.parts()[AT_WORK], 4.0);
    }

    #[test]
    fn threads_that_run_at_once_share_the_time_that_passes() {
        // Four threads on two CPUs.
        let seen = seen(10.0, [20.0, 0.0, 20.0], &[("run", 10.0, 40.0)]);
        assert_eq!(parts(&seen), expected(&[("run queue", 5000), ("user", 5000)]));
    }

    #[test]
    fn a_second_thread_that_runs_for_moments_makes_no_residual() {
        // Looks see one and a half threads running; the kernel counts 1.1 of them.
        let seen = seen(10.0, [10.0, 1.0, 0.0], &[("run", 10.0, 15.0)]);
        assert_eq!(parts(&seen), expected(&[("system", 909), ("user", 9091)]));
    }

    #[test]
    fn a_rest_that_looks_hardly_saw_stays_a_residual() {
        let seen = seen(10.0, [4.0, 0.0, 0.0], &[("run", 9.9, 9.9), ("poll", 0.1, 0.1)]);
        let poll = seen.parts()["poll"];
        assert!((0.1..0.6).contains(&poll), "{poll}");
        let none = super::tests::seen(10.0, [4.0, 0.0, 0.0], &[("run", 10.0, 10.0)]);
        assert_eq!(parts(&none), expected(&[("user", 4000)]));
    }

    #[test]
    fn block_io_is_no_less_than_the_kernel_counts() {
        let mut seen = seen(10.0, [2.0, 0.0, 0.0], &[("run", 2.0, 2.0), ("disk", 2.0, 2.0), ("sleep", 6.0, 6.0)]);
        assert_eq!(parts(&seen), expected(&[("disk", 2000), ("sleep", 6000), ("user", 2000)]));
        seen.block_s = 5.0;
        assert_eq!(parts(&seen), expected(&[("disk", 5000), ("sleep", 3000), ("user", 2000)]));
        seen.block_s = 1.0;
        assert_eq!(parts(&seen), expected(&[("disk", 2000), ("sleep", 6000), ("user", 2000)]));
    }
}
