//! /proc/PID/status: memory, state and context switches of processes and threads, one after another, once or again and
//! again.
//!
//! Two readings of a process give rates of its context switches where the time between them is known. Sizes without a
//! column, and counters read once, are metrics. Masks, ids and limits are left out.

use fenxi_model::{
    Micros,
    catalog::{metric, process, thread},
};

use super::moments::{Moments, is_prompt};
use crate::{
    Family, Format, Head, Input, Out, Sure, generic::labels::Labels, linux::counters::Counters, number, stamp,
};

/// Importer for saved /proc/PID/status and /proc/PID/task/TID/status of any number of processes.
pub static FORMAT: Format = Format {
    name: "pid-status",
    summary: "saved /proc/PID/status and /proc/PID/task/TID/status of any number of processes",
    family: Family::Linux,
    tables: &[&process::TABLE, &thread::TABLE, &metric::TABLE],
    example: "\
Name:\tmariadbd
Umask:\t0027
State:\tS (sleeping)
Tgid:\t3094
Pid:\t3094
VmRSS:\t  812344 kB
",
    sniff,
    read,
};

/// The state's line follows the name's, with the mask between them since Linux 4.7.
fn sniff(head: &Head<'_>) -> Sure {
    let lines: Vec<&str> = head.lines().take(60).collect();
    let named = |at: usize, name: &str| lines.get(at).is_some_and(|line| line.starts_with(name));
    let begins = |at: usize| {
        let next = at + 1 + usize::from(named(at + 1, "Umask:\t"));
        named(at, "Name:\t") && named(next, "State:\t") && named(next + 1, "Tgid:\t")
    };
    Sure::Certain.when((0..lines.len()).any(begins))
}

/// One process or thread.
#[derive(Default)]
struct Task {
    comm: String,
    state: Option<String>,
    tgid: Option<i64>,
    pid: Option<i64>,
    ppid: Option<i64>,
    threads: Option<f64>,
    voluntary: Option<f64>,
    involuntary: Option<f64>,
    /// Sizes in bytes, by their names.
    sizes: Vec<(String, f64)>,
}

impl Task {
    /// Takes the line `name:\tvalue`.
    fn put(&mut self, name: &str, value: &str) {
        let whole = || value.parse::<i64>().ok();
        match name {
            "State" => self.state = value.split(' ').next().map(str::to_owned),
            "Tgid" => self.tgid = whole(),
            "Pid" => self.pid = whole(),
            "PPid" => self.ppid = whole(),
            "Threads" => self.threads = number(value),
            "voluntary_ctxt_switches" => self.voluntary = number(value),
            "nonvoluntary_ctxt_switches" => self.involuntary = number(value),
            _ => {
                let size = value.strip_suffix(" kB").and_then(|kib| number(kib.trim())).map(|kib| kib * 1024.0);
                self.sizes.extend(size.map(|bytes| (name.to_owned(), bytes)));
            }
        }
    }

    fn size(&self, name: &str) -> Option<f64> {
        self.sizes.iter().find(|(n, _)| n == name).map(|(_, bytes)| *bytes)
    }
}

struct Reader {
    moments: Moments,
    counters: Counters,
    now: Option<(Micros, Option<f64>)>,
    /// The first task of this moment: when it comes again, so does the moment.
    first: Option<i64>,
    task: Option<Task>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader =
        Reader { moments: Moments::new(out), counters: Counters::default(), now: None, first: None, task: None };
    input.each_line(|number, line| {
        if line.trim().is_empty() {
            return;
        }
        if let Some((name, value)) = line.split_once(":\t") {
            if name == "Name" {
                reader.end(out);
                reader.task = Some(Task { comm: value.to_owned(), ..Task::default() });
                return;
            }
            let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if let (Some(task), true) = (&mut reader.task, word) {
                task.put(name, value.trim());
                return;
            }
        }
        let line = line.trim();
        if stamp(line).is_some_and(|stamp| stamp.rest.is_empty()) {
            reader.end(out);
            (reader.now, reader.first) = (None, None);
            reader.moments.take(line, out);
        } else if line.starts_with("==>") || is_prompt(line, "cat") {
            reader.end(out);
        } else {
            out.unknown(number, line, "no line of /proc/PID/status");
        }
    });
    reader.end(out);
}

impl Reader {
    /// A task is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        let Some(task) = self.task.take() else { return };
        let (Some(pid), Some(tgid)) = (task.pid, task.tgid) else {
            out.note(None, "a process without its number in /proc/PID/status");
            return;
        };
        if self.first == Some(pid) {
            (self.now, self.first) = (None, None);
        }
        self.first.get_or_insert(pid);
        let (t, dt) = *self.now.get_or_insert_with(|| self.moments.next(out));
        let mut labels = Labels::of("pid", &pid.to_string());
        labels.push("comm", &task.comm);
        let measured = self.moments.is_measured();
        let counters = &mut self.counters;
        let mut rate = |name: &str, value: Option<f64>| {
            counters.rate(&format!("{} {name}", labels.text()), t, value?).filter(|_| measured)
        };
        let (voluntary, involuntary) = (rate("voluntary", task.voluntary), rate("involuntary", task.involuntary));
        let state = task.state.as_deref();
        if pid == tgid {
            let mut row = out.row(&process::TABLE, t, dt);
            row.i64(process::pid, pid).str(process::comm, &*task.comm).i64(process::ppid, task.ppid);
            row.f64(process::rss_bytes, task.size("VmRSS")).f64(process::vsz_bytes, task.size("VmSize"));
            row.f64(process::threads, task.threads).str(process::state, state);
            row.f64(process::voluntary_switches_per_s, voluntary);
            row.f64(process::involuntary_switches_per_s, involuntary);
        } else {
            let mut row = out.row(&thread::TABLE, t, dt);
            row.i64(thread::pid, tgid).i64(thread::tid, pid).str(thread::comm, &*task.comm).str(thread::state, state);
            row.f64(thread::voluntary_switches_per_s, voluntary);
            row.f64(thread::involuntary_switches_per_s, involuntary);
            // Memory is the process's.
            return;
        }
        for (name, bytes) in task.sizes.iter().filter(|(name, _)| !matches!(name.as_str(), "VmRSS" | "VmSize")) {
            out.metric(t, dt, &format!("pid-status.{name}"), labels.text(), *bytes, "B");
        }
        let switches = [
            ("voluntary_switches", task.voluntary, voluntary),
            ("involuntary_switches", task.involuntary, involuntary),
        ];
        for (name, value, _) in switches.into_iter().filter(|(_, value, rate)| value.is_some() && rate.is_none()) {
            out.metric(t, None, &format!("pid-status.{name}"), labels.text(), value, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn a_thread_has_a_row_of_its_own_and_switches_become_rates() {
        let task = |pid: u32, n: u32| {
            format!(
                "Name:\tdb\nState:\tS (sleeping)\nTgid:\t7\nPid:\t{pid}\nVmRSS:\t     4 kB\nvoluntary_ctxt_switches:\t{n}\n"
            )
        };
        let text = format!("1795249143\n{}{}1795249145\n{}{}", task(7, 10), task(8, 1), task(7, 30), task(8, 5));
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("\t7\tdb\t4096\t10\tS\n"), "{}", read.text);
        assert!(read.text.contains("\t7\t8\tdb\t2\tS\n"), "{}", read.text);
    }

    #[test]
    fn other_texts_with_names_are_nobodys() {
        for text in ["Name:\tx\nVersion:\t1\n", "Name: x\nState: S\nTgid: 1\n"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
