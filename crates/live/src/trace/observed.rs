//! Shared parts of observer views: totals, periodic output, overhead of the observer.

use std::fmt::Write;

use fenxi_model::{Rows, catalog::metric};

use crate::{Frame, View, columns};

/// When a view prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After each interval, what was in it.
    EachInterval,
    /// At the end, all of it.
    AtTheEnd,
}

/// Sums over the rows of an observer: [`Summed`] makes a view of it.
pub trait Observed {
    /// Adds the rows of a frame.
    fn take(&mut self, frame: &Frame<'_>);

    /// Prints the sums of `elapsed_s` seconds, and resets them.
    fn show(&mut self, elapsed_s: f64, out: &mut String);

    /// Whether its text is for other programs: nothing else is printed then, neither times nor costs.
    fn is_data(&self) -> bool {
        false
    }
}

/// Prints the observations after each interval or at the end, and then the overhead.
#[derive(Debug)]
pub struct Summed<V> {
    inner: V,
    when: When,
    elapsed_s: f64,
    costs: Costs,
}

impl<V: Observed> Summed<V> {
    /// Around what adds up.
    pub fn new(inner: V, when: When) -> Summed<V> {
        Summed { inner, when, elapsed_s: 0.0, costs: Costs::default() }
    }

    fn show(&mut self, out: &mut String) {
        self.inner.show(std::mem::take(&mut self.elapsed_s), out);
    }
}

impl<V: Observed> View for Summed<V> {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        self.costs.take(frame.rows);
        self.elapsed_s += frame.dt;
        self.inner.take(frame);
        match self.when {
            When::AtTheEnd => {}
            When::EachInterval if self.inner.is_data() => self.show(out),
            When::EachInterval => {
                let _ = writeln!(out, "{}", frame.t.iso());
                self.show(out);
                if !out.ends_with("\n\n") {
                    out.push('\n');
                }
            }
        }
    }

    fn end(&mut self, out: &mut String) {
        if self.when == When::AtTheEnd {
            self.show(out);
        }
        if !self.inner.is_data() {
            self.costs.say(out);
        }
    }
}

/// Shows what another view shows, and at the end what observing cost.
#[derive(Debug)]
pub struct WithCost<V> {
    inner: V,
    costs: Costs,
}

impl<V: View> WithCost<V> {
    /// Around a view.
    pub fn new(inner: V) -> WithCost<V> {
        WithCost { inner, costs: Costs::default() }
    }
}

impl<V: View> View for WithCost<V> {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        self.costs.take(frame.rows);
        self.inner.frame(frame, out);
    }

    fn end(&mut self, out: &mut String) {
        self.inner.end(out);
        self.costs.say(out);
    }
}

/// Costs of the programs in the kernel: sums over the intervals in which they were measured.
#[derive(Debug, Default)]
struct Costs {
    cpu_pct: f64,
    runs_per_s: f64,
    intervals: u32,
    lost: f64,
}

impl Costs {
    fn take(&mut self, rows: &Rows) {
        let Some(rows) = rows.of(&metric::TABLE) else { return };
        let mut measured = false;
        for row in 0..rows.n_rows() {
            let value = rows.f64(row, metric::value).unwrap_or(0.0);
            match rows.str(row, metric::name) {
                Some("observer_cpu") => {
                    self.cpu_pct += value;
                    measured = true;
                }
                Some("observer_runs") => self.runs_per_s += value,
                Some("observer_lost") => self.lost += value,
                _ => {}
            }
        }
        self.intervals += u32::from(measured);
    }

    fn say(&self, out: &mut String) {
        if self.intervals > 0 {
            let n = f64::from(self.intervals);
            let (cpu, runs) = (self.cpu_pct / n, self.runs_per_s / n);
            let _ = writeln!(out, "observing: {cpu:.2} % of a CPU in the kernel, {runs:.0} events/s");
        }
        if self.lost > 0.0 {
            let _ = writeln!(out, "lost: {:.0} events were not counted (notes say why)", self.lost);
        }
    }
}

/// A table of the first `top` lines; the others have `less` than these.
pub fn table(
    header: &[&str],
    right: &[usize],
    lines: impl ExactSizeIterator<Item = Vec<String>>,
    (top, less): (usize, &str),
    out: &mut String,
) {
    let hidden = lines.len().saturating_sub(top);
    out.push_str(&columns(header, right, &lines.take(top).collect::<Vec<_>>()));
    more(hidden, less, "--top", out);
}

/// Reports that there are `hidden` more lines, what they have in common, and which option shows them.
pub fn more(hidden: usize, what: &str, option: &str, out: &mut String) {
    if hidden > 0 {
        let _ = writeln!(out, "({hidden} more{what}: {option})");
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::*;

    struct Seconds {
        is_data: bool,
    }

    impl Observed for Seconds {
        fn take(&mut self, _: &Frame<'_>) {}

        fn show(&mut self, elapsed_s: f64, out: &mut String) {
            let _ = writeln!(out, "{elapsed_s}");
        }

        fn is_data(&self) -> bool {
            self.is_data
        }
    }

    /// Two intervals, of one and of two seconds, in one of which costs were measured.
    fn shown(when: When, is_data: bool) -> String {
        let (mut rows, nothing) = (Rows::new("h"), Rows::new("h"));
        for (name, value) in [("observer_cpu", 1.5), ("observer_cpu", 0.5), ("observer_runs", 300.0)] {
            rows.row(&metric::TABLE, Micros(0), 1.0).str(metric::name, name).f64(metric::value, value);
        }
        let mut view = Summed::new(Seconds { is_data }, when);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 1.0, since_boot: false, rows: &rows }, &mut out);
        view.frame(&Frame { t: Micros(2_000_000), dt: 2.0, since_boot: false, rows: &nothing }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn intervals_are_shown_apart_or_as_one() {
        let cost = "observing: 2.00 % of a CPU in the kernel, 300 events/s\n";
        assert_eq!(shown(When::AtTheEnd, false), format!("3\n{cost}"));
        let (first, second) = (Micros(0).iso(), Micros(2_000_000).iso());
        assert_eq!(shown(When::EachInterval, false), format!("{first}\n1\n\n{second}\n2\n\n{cost}"));
    }

    #[test]
    fn nothing_is_said_between_data() {
        assert_eq!(shown(When::EachInterval, true), "1\n2\n");
        assert_eq!(shown(When::AtTheEnd, true), "3\n");
    }
}
