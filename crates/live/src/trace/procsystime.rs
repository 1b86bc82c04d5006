//! `trace procsystime`: where time goes in system calls.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_model::{Unit, catalog::syscall as c};

use super::{Observed, observed::more};
use crate::{Frame, columns};

/// What lines stand for, besides the system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// All processes together.
    Call,
    /// Programs of one name together.
    Command,
    /// Each process or thread.
    Process,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct ProcsystimeOptions {
    /// What lines stand for.
    pub group: Group,
    /// Lines at most.
    pub top: usize,
    /// As `truss -c`: seconds, calls, errors, nothing else.
    pub counts: bool,
}

/// Shows the table `syscall`.
#[derive(Debug)]
pub struct Procsystime {
    options: ProcsystimeOptions,
    sums: BTreeMap<Key, Sums>,
}

/// Name and number of the process, as far as they are told apart; name of the call.
type Key = (String, Option<i64>, String);

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: f64,
    errors: f64,
    elapsed_s: f64,
    cpu_s: f64,
}

impl Sums {
    fn add(&mut self, more: Sums) {
        self.calls += more.calls;
        self.errors += more.errors;
        self.elapsed_s += more.elapsed_s;
        self.cpu_s += more.cpu_s;
    }
}

impl Procsystime {
    /// Shows as `options` say.
    pub fn new(options: ProcsystimeOptions) -> Procsystime {
        Procsystime { options, sums: BTreeMap::new() }
    }

    fn line(&self, (comm, pid, call): &Key, sums: Sums, total: Sums) -> Vec<String> {
        let mut cells = match self.options.group {
            Group::Call => vec![],
            Group::Command => vec![comm.clone()],
            Group::Process => vec![pid.map_or_else(String::new, |pid| pid.to_string()), comm.clone()],
        };
        let seconds = |value: f64| Unit::Seconds.human(value).to_string();
        let share = |part: f64, of: f64| if of > 0.0 { format!("{:.1}", 100.0 * part / of) } else { "-".to_owned() };
        cells.extend([
            call.clone(),
            format!("{:.0}", sums.calls),
            format!("{:.0}", sums.errors),
            seconds(sums.elapsed_s),
            seconds(sums.cpu_s),
            seconds(sums.elapsed_s / sums.calls.max(1.0)),
            share(sums.elapsed_s, total.elapsed_s),
            share(sums.cpu_s, total.cpu_s),
        ]);
        cells
    }
}

/// As people know it from `truss -c`; its seconds are CPU time.
fn counts(lines: &[(Key, Sums)], total: Sums, out: &mut String) {
    let row = |name: &str, sums: &Sums| {
        let errors = if sums.errors > 0.0 { format!("{:.0}", sums.errors) } else { String::new() };
        vec![name.to_owned(), format!("{:.6}", sums.cpu_s), format!("{:.0}", sums.calls), errors]
    };
    let mut rows: Vec<_> = lines.iter().map(|((_, _, call), sums)| row(call, sums)).collect();
    rows.push(row("sys totals:", &total));
    out.push_str(&columns(&["syscall", "seconds", "calls", "errors"], &[1, 2, 3], &rows));
    let _ = writeln!(out, "elapsed in calls: {}", Unit::Seconds.human(total.elapsed_s));
}

impl Observed for Procsystime {
    fn take(&mut self, frame: &Frame<'_>) {
        let Some(rows) = frame.rows.of(&c::TABLE) else { return };
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            let (comm, pid) = match self.options.group {
                Group::Call => (String::new(), None),
                Group::Command => (text(c::comm), None),
                Group::Process => (text(c::comm), rows.i64(row, c::pid)),
            };
            let value = |place| rows.f64(row, place).unwrap_or(0.0);
            self.sums.entry((comm, pid, text(c::syscall))).or_default().add(Sums {
                calls: value(c::calls),
                errors: value(c::errors),
                elapsed_s: value(c::elapsed_s),
                cpu_s: value(c::cpu_s),
            });
        }
    }

    fn show(&mut self, _: f64, out: &mut String) {
        let mut total = Sums::default();
        self.sums.values().for_each(|sums| total.add(*sums));
        let mut lines: Vec<_> = std::mem::take(&mut self.sums).into_iter().collect();
        lines.sort_by(|(_, a), (_, b)| b.elapsed_s.total_cmp(&a.elapsed_s));
        if self.options.counts {
            return counts(&lines, total, out);
        }
        let mut header = vec!["SYSCALL", "CALLS", "ERRORS", "ELAPSED", "CPU", "AVG", "%ELAPSED", "%CPU"];
        let names: &[&str] = match self.options.group {
            Group::Call => &[],
            Group::Command => &["COMMAND"],
            Group::Process => &["PID", "COMMAND"],
        };
        header.splice(0..0, names.iter().copied());
        let shown = lines.iter().take(self.options.top);
        let mut rows: Vec<Vec<String>> = shown.map(|(key, sums)| self.line(key, *sums, total)).collect();
        if rows.len() > 1 {
            rows.push(self.line(&(String::new(), None, "TOTAL".to_owned()), total, total));
        }
        let right: Vec<usize> = (names.len() + 1..header.len()).chain((names.len() == 2).then_some(0)).collect();
        if lines.is_empty() {
            out.push_str("no system calls\n");
        } else {
            out.push_str(&columns(&header, &right, &rows));
        }
        more(lines.len().saturating_sub(self.options.top), " with less time", "--top", out);
    }
}
