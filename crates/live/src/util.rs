//! `util`: CPU utilisation by tick sampling and by the scheduler's own measurement, side by side.
//!
//! All figures are CPU seconds per second of elapsed time: 1.000 is one CPU busy all the time.

use std::fmt::Write;

use fenxi_model::{RowsOf, catalog::cpu_time as c};

use crate::{Frame, View};

/// Options of the view.
#[derive(Clone, Copy, Debug)]
pub struct UtilOptions {
    /// A line for each interval.
    pub lines: bool,
    /// Print totals of all intervals after the last one.
    pub totals: bool,
    /// Lines for each CPU too.
    pub each_cpu: bool,
    /// Columns of the terminal; None when there is no limit.
    pub width: Option<usize>,
    /// Seconds between two ticks of the timer, where known.
    pub tick_s: Option<f64>,
}

/// Shows the table `cpu_time`.
#[derive(Debug)]
pub struct Util {
    options: UtilOptions,
    /// Lines since the header.
    since_header: Option<usize>,
    totals: Totals,
}

/// Seconds between two ticks when it is not known: the longest that kernels are built with.
const LONGEST_TICK_S: f64 = 0.01;
/// Shorter times are too coarse in ticks of 10 ms for shares to add up.
const COARSE_S: f64 = 0.2;
/// Lines after which the header comes again.
const HEADER_EVERY: usize = 40;
/// Narrower terminals show the comparison only.
const ALL_COLUMNS: usize = 75;

/// The accounts of one row, in CPU seconds per second; in [`Totals`] CPU seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Accounts {
    usr: Option<f64>,
    sys: Option<f64>,
    irq: Option<f64>,
    steal: Option<f64>,
    idle: Option<f64>,
    idle_states: Option<f64>,
    run: Option<f64>,
}

impl Accounts {
    fn of(rows: RowsOf<'_, c::Schema>, row: usize) -> Accounts {
        let value = |place| rows.f64(row, place);
        Accounts {
            usr: value(c::usr_cpus),
            sys: value(c::sys_cpus),
            irq: value(c::irq_cpus),
            steal: value(c::steal_cpus),
            idle: value(c::idle_cpus),
            idle_states: value(c::idle_states_cpus),
            run: value(c::run_cpus),
        }
    }

    /// CPU time that the clock tick saw running. Kernels that have no column for interrupts have them in sys.
    fn ticks(&self) -> Option<f64> {
        Some(self.usr? + self.sys? + self.irq.unwrap_or(0.0))
    }

    /// CPU time neither idle nor stolen, of `n_cpus` CPU seconds per second.
    fn awake(&self, capacity: f64) -> Option<f64> {
        Some((capacity - self.idle? - self.steal.unwrap_or(0.0)).max(0.0))
    }

    /// CPU time that the clock tick did not see running; below zero when the tick charged too much.
    fn hidden(&self) -> Option<f64> {
        Some(self.run? - self.ticks()?)
    }
}

/// Sums over all intervals.
#[derive(Debug, Default)]
struct Totals {
    n: u64,
    elapsed_s: f64,
    /// CPU seconds that there were: CPUs times elapsed time, CPUs that came and went included.
    capacity_s: f64,
    sums: Accounts,
    run_by: Option<String>,
    accounting: Option<String>,
}

impl Totals {
    fn add(&mut self, rows: RowsOf<'_, c::Schema>, row: usize, n_cpus: usize, dt: f64) {
        let now = Accounts::of(rows, row);
        let sums = &mut self.sums;
        for (sum, value) in [
            (&mut sums.usr, now.usr),
            (&mut sums.sys, now.sys),
            (&mut sums.irq, now.irq),
            (&mut sums.steal, now.steal),
            (&mut sums.idle, now.idle),
            (&mut sums.idle_states, now.idle_states),
            (&mut sums.run, now.run),
        ] {
            // A sum with a gap in it would be a wrong total.
            let before = if self.n == 0 { Some(0.0) } else { *sum };
            *sum = before.and_then(|before| Some(before + value? * dt));
        }
        self.n += 1;
        self.elapsed_s += dt;
        self.capacity_s += n_cpus as f64 * dt;
        note(&mut self.run_by, rows.str(row, c::run_by));
        note(&mut self.accounting, rows.str(row, c::accounting));
    }
}

/// Keeps the last value that there was.
fn note(kept: &mut Option<String>, value: Option<&str>) {
    if let Some(value) = value
        && kept.as_deref() != Some(value)
    {
        *kept = Some(value.to_owned());
    }
}

impl Util {
    /// Shows what `options` say.
    pub fn new(options: UtilOptions) -> Util {
        Util { options, since_header: None, totals: Totals::default() }
    }

    fn is_wide(&self) -> bool {
        self.options.width.is_none_or(|width| width >= ALL_COLUMNS + 5 * usize::from(self.options.each_cpu))
    }

    fn begin(&self, rows: RowsOf<'_, c::Schema>, row: usize, n_cpus: usize, out: &mut String) {
        let cpus = if n_cpus == 1 { "CPU" } else { "CPUs" };
        if !self.is_wide() {
            let _ = writeln!(out, "{n_cpus} {cpus}, CPU seconds per second");
            return;
        }
        let _ = write!(out, "{n_cpus} {cpus}; ");
        out.push_str(match rows.str(row, c::accounting) {
            Some("tick") => "USR SYS IRQ sampled at each clock tick",
            Some("exact") => "this kernel MEASURES USR and SYS, nothing hides",
            Some("mixed") => "USR SYS IRQ sampled on some CPUs, measured on others",
            _ => "USR SYS IRQ as the kernel counts them",
        });
        if let (Some("tick"), Some(tick_s)) = (rows.str(row, c::accounting), self.options.tick_s) {
            let _ = write!(out, " ({:.1} ms)", tick_s * 1e3);
        }
        if let Some(by) = rows.str(row, c::run_by) {
            let _ = write!(out, "; RUN measured ({by})");
        }
        out.push('\n');
    }

    fn header(&mut self, out: &mut String) {
        let due = self.since_header.is_none_or(|n| n >= HEADER_EVERY);
        if !due {
            return;
        }
        self.since_header = Some(0);
        out.push_str("TIME    ");
        if self.options.each_cpu {
            out.push_str("  CPU");
        }
        if self.is_wide() {
            out.push_str("     USR     SYS     IRQ   STEAL    IDLE");
        }
        out.push_str("   TICKS     RUN   AWAKE  HIDDEN\n");
    }

    fn line(&mut self, frame: &Frame<'_>, rows: RowsOf<'_, c::Schema>, row: usize, n_cpus: usize, out: &mut String) {
        let cpu = rows.str(row, c::cpu);
        let accounts = Accounts::of(rows, row);
        let seconds = frame.t.0.div_euclid(1_000_000).rem_euclid(86_400);
        if frame.since_boot {
            out.push_str("boot    ");
        } else {
            let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        }
        if self.options.each_cpu {
            let _ = write!(out, " {:>4}", cpu.unwrap_or("all"));
        }
        if self.is_wide() {
            for value in [accounts.usr, accounts.sys, accounts.irq, accounts.steal, accounts.idle] {
                cell(value, out);
            }
        }
        let capacity = if cpu.is_some() { 1.0 } else { n_cpus as f64 };
        for value in [accounts.ticks(), accounts.run, accounts.awake(capacity), accounts.hidden()] {
            cell(value, out);
        }
        out.push('\n');
        self.since_header = self.since_header.map(|n| n + 1);
    }
}

/// Eight columns, as many decimals as there is room for.
fn cell(value: Option<f64>, out: &mut String) {
    let _ = match value {
        // Not `-0.000`.
        Some(value) if value.abs() < 0.000_5 => write!(out, " {:7.3}", 0.0),
        Some(value) if value.abs() < 100.0 => write!(out, " {value:7.3}"),
        Some(value) => write!(out, " {value:7.1}"),
        None => write!(out, " {:>7}", "-"),
    };
}

impl View for Util {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let Some(rows) = frame.rows.of(&c::TABLE) else { return };
        let Some(all) = (0..rows.n_rows()).find(|row| rows.str(*row, c::cpu).is_none()) else { return };
        let n_cpus = rows.n_rows() - 1;
        if !frame.since_boot {
            self.totals.add(rows, all, n_cpus, rows.f64(all, c::dt).unwrap_or(frame.dt));
        }
        if !self.options.lines {
            return;
        }
        if self.since_header.is_none() {
            self.begin(rows, all, n_cpus, out);
        }
        self.header(out);
        if self.options.each_cpu {
            for row in (0..rows.n_rows()).filter(|row| *row != all) {
                self.line(frame, rows, row, n_cpus, out);
            }
        }
        self.line(frame, rows, all, n_cpus, out);
    }

    fn end(&mut self, out: &mut String) {
        if self.options.totals && self.totals.n > 0 {
            if self.options.lines {
                out.push('\n');
            }
            self.totals.show(self.options.tick_s.unwrap_or(LONGEST_TICK_S), out);
        }
    }
}

impl Totals {
    fn show(&self, tick_s: f64, out: &mut String) {
        let sums = &self.sums;
        let cpus = self.capacity_s / self.elapsed_s;
        let _ = writeln!(out, "{:.3} s elapsed, {cpus:.4} CPUs: {:.3} CPU seconds", self.elapsed_s, self.capacity_s);
        let _ = writeln!(out, "{:<12} {:>10} {:>8} {:>7}", "", "CPU s", "CPUs", "share");
        let run = match self.run_by.as_deref() {
            Some(by) => format!("scheduler's measure ({by})"),
            None => "scheduler's measure".to_owned(),
        };
        let lines: [(&str, Option<f64>, &str); 9] = [
            ("usr", sums.usr, "ticks"),
            ("sys", sums.sys, "ticks"),
            ("irq", sums.irq, "ticks"),
            ("steal", sums.steal, "hypervisor's measure"),
            ("idle", sums.idle, "nothing to run"),
            ("idle states", sums.idle_states, "cpuidle's measure"),
            ("TICKS", sums.ticks(), "usr + sys + irq"),
            ("RUN", sums.run, &run),
            ("AWAKE", sums.awake(self.capacity_s), "elapsed - idle - steal"),
        ];
        for (name, value, what) in lines {
            let _ = match value {
                Some(s) => {
                    let (rate, share) = (s / self.elapsed_s, s * 100.0 / self.capacity_s);
                    writeln!(out, "{name:<12} {s:>10.3} {rate:>8.4} {share:>6.2}%  {what}")
                }
                None => writeln!(out, "{name:<12} {:>10} {:>8} {:>7}  {what}", "-", "-", "-"),
            };
        }
        if self.elapsed_s < COARSE_S {
            out.push_str(
                "So short a time is a few ticks of /proc/stat, which counts in 10 ms: shares of them are coarse.\n",
            );
        }
        self.verdict(tick_s, out);
    }

    /// Explains what the difference means.
    fn verdict(&self, tick_s: f64, out: &mut String) {
        let (Some(hidden), Some(run)) = (self.sums.hidden(), self.sums.run) else {
            out.push_str("Nothing measured here can be compared with the ticks.\n");
            return;
        };
        // Of n ticks that find a CPU busy or not, the count is off by half the root of n at most (one
        // standard deviation); three of them, and a tick on each CPU by which the measure may be late.
        let chance = 1.5 * (self.capacity_s * tick_s).sqrt() + tick_s * self.capacity_s / self.elapsed_s;
        let share = 100.0 * hidden / run.max(f64::MIN_POSITIVE);
        let _ = match self.accounting.as_deref() {
            Some("exact") => writeln!(
                out,
                "HIDDEN       {hidden:>10.3}: usr and sys are MEASURED by this kernel, nothing hides from its clock."
            ),
            _ if hidden > chance => writeln!(
                out,
                "HIDDEN       {hidden:>10.3}: the clock tick MISSED {share:.1}% of what ran (chance explains {chance:.3})."
            ),
            _ if hidden < -chance => writeln!(
                out,
                "HIDDEN       {hidden:>10.3}: the clock tick charged {:.1}% more than what ran (chance explains {chance:.3}).",
                -share
            ),
            _ => writeln!(out, "HIDDEN       {hidden:>10.3}: the accounts agree (chance explains {chance:.3})."),
        };
    }
}

#[cfg(test)]
mod tests;
