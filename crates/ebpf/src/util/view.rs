//! `trace util`: tick-sampled and event-driven utilisation in thousandths, a line per interval.

use std::fmt::Write;

use fenxi_live::{Frame, Util, UtilOptions, View, trace::WithCost};
use fenxi_model::{RowsOf, catalog::cpu_time as c};
use fenxi_source::Options;

use crate::Setting;

/// Thousandths, or CPU seconds as `fenxi watch util` shows them.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    let shown = UtilOptions {
        lines: !setting.has_command || setting.has_interval,
        totals: setting.has_command || options.is_given("totals") || options.is_given(super::HIDING),
        each_cpu: options.is_given("each-cpu"),
        width: setting.width,
        tick_s: setting.tick_s,
    };
    if options.is_given("accounts") {
        Box::new(WithCost::new(Util::new(shown)))
    } else {
        Box::new(WithCost::new(OldNew::new(shown)))
    }
}

/// Shows the table `cpu_time` as thousandths of what the CPUs could have run.
#[derive(Debug)]
struct OldNew {
    options: UtilOptions,
    since_header: Option<usize>,
    /// Adds up, and judges at the end.
    sums: Util,
}

/// Lines after which the header comes again.
const HEADER_EVERY: usize = 40;

impl OldNew {
    /// Shows what `options` say; widths do not matter.
    fn new(options: UtilOptions) -> OldNew {
        let sums = Util::new(UtilOptions { lines: false, ..options });
        OldNew { options, since_header: None, sums }
    }

    fn header(&mut self, rows: RowsOf<'_, c::Schema>, row: usize, n_cpus: usize, out: &mut String) {
        if self.since_header.is_none() {
            let _ = write!(out, "NCPUs = {n_cpus}; tk ");
            let _ = match (rows.str(row, c::accounting), self.options.tick_s) {
                (Some("exact"), _) => write!(out, "MEASURED by this kernel, nothing hides"),
                (_, Some(tick_s)) => write!(out, "sampled at each clock tick ({:.1} ms)", tick_s * 1e3),
                _ => write!(out, "as the kernel counts it"),
            };
            let _ = writeln!(out, ", ns measured ({})", rows.str(row, c::run_by).unwrap_or("nothing measures it"));
        }
        if self.since_header.is_none_or(|n| n >= HEADER_EVERY) {
            self.since_header = Some(0);
            let cpu = if self.options.each_cpu { "  CPU" } else { "" };
            let _ = writeln!(out, "Date-time          {cpu}  sw-tk/1000     tk/1000     ns/1000      HIDDEN");
        }
    }

    fn line(&mut self, frame: &Frame<'_>, rows: RowsOf<'_, c::Schema>, row: usize, n_cpus: usize, out: &mut String) {
        let _ = write!(out, "{:<19}", frame.t.to_the_second());
        if self.options.each_cpu {
            let _ = write!(out, " {:>4}", rows.str(row, c::cpu).unwrap_or("all"));
        }
        let cpus = if rows.str(row, c::cpu).is_some() { 1.0 } else { n_cpus as f64 };
        let value = |place| rows.f64(row, place);
        let ticks = value(c::usr_cpus).zip(value(c::sys_cpus)).map(|(usr, sys)| usr + sys);
        let ticks = ticks.map(|ticks| ticks + value(c::irq_cpus).unwrap_or(0.0));
        let hidden = value(c::run_cpus).zip(ticks).map(|(run, ticks)| run - ticks);
        for part in [value(c::tick_cpus), ticks, value(c::run_cpus), hidden] {
            let _ = match part {
                // Not `-0`.
                Some(part) => write!(out, "  {:>10}", (part * 1000.0 / cpus).round() as i64),
                None => write!(out, "  {:>10}", "-"),
            };
        }
        out.push('\n');
        self.since_header = self.since_header.map(|n| n + 1);
    }
}

impl View for OldNew {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        self.sums.frame(frame, out);
        let Some(rows) = frame.rows.of(&c::TABLE) else { return };
        let Some(all) = (0..rows.n_rows()).find(|row| rows.str(*row, c::cpu).is_none()) else { return };
        if !self.options.lines {
            return;
        }
        let n_cpus = rows.n_rows() - 1;
        self.header(rows, all, n_cpus, out);
        if self.options.each_cpu {
            for row in (0..rows.n_rows()).filter(|row| *row != all) {
                self.line(frame, rows, row, n_cpus, out);
            }
        }
        self.line(frame, rows, all, n_cpus, out);
    }

    fn end(&mut self, out: &mut String) {
        if self.options.lines && self.options.totals && self.since_header.is_some() {
            out.push('\n');
        }
        self.sums.end(out);
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::{Frame, UtilOptions, View};
    use fenxi_model::{Micros, Rows, catalog::cpu_time as c};

    use super::OldNew;

    const OPTIONS: UtilOptions =
        UtilOptions { lines: true, totals: false, each_cpu: true, width: None, tick_s: Some(0.004) };

    fn show(options: UtilOptions) -> String {
        let mut rows = Rows::new("h");
        for (cpu, ticks, again, run) in
            [(Some("0"), 0.02, 0.016, 0.75), (Some("1"), 1.0, 1.0, 1.0), (None, 1.02, 1.016, 1.75)]
        {
            rows.row(&c::TABLE, Micros(45_296_000_000), 1.0)
                .str(c::cpu, cpu)
                .f64(c::usr_cpus, ticks)
                .f64(c::sys_cpus, 0.0)
                .f64(c::tick_cpus, again)
                .f64(c::run_cpus, run)
                .str(c::run_by, "switches")
                .str(c::accounting, "tick");
        }
        let mut view = OldNew::new(options);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(45_296_000_000), dt: 1.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn thousandths_of_each_cpu_and_of_all() {
        assert_eq!(
            show(OPTIONS),
            "\
NCPUs = 2; tk sampled at each clock tick (4.0 ms), ns measured (switches)
Date-time            CPU  sw-tk/1000     tk/1000     ns/1000      HIDDEN
1970-01-01 12:34:56    0          16          20         750         730
1970-01-01 12:34:56    1        1000        1000        1000           0
1970-01-01 12:34:56  all         508         510         875         365
"
        );
    }

    #[test]
    fn sums_follow_when_they_are_asked_for() {
        let text = show(UtilOptions { each_cpu: false, totals: true, ..OPTIONS });
        assert!(text.contains("\nRUN               1.750"), "{text}");
        assert!(text.contains("MISSED 41.7% of what ran"), "{text}");
    }
}
