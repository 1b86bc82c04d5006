//! What observing itself cost, said after what was observed.

use std::fmt::Write;

use fenxi_model::catalog::metric;

use crate::{Frame, View};

/// Shows what `inner` shows, and at the end what the programs in the kernel cost.
#[derive(Debug)]
pub struct WithCost<V> {
    inner: V,
    /// Sums over the intervals in which it was measured.
    cpu_pct: f64,
    runs_per_s: f64,
    intervals: u32,
    lost: f64,
}

impl<V: View> WithCost<V> {
    /// Around a view.
    pub fn new(inner: V) -> WithCost<V> {
        WithCost { inner, cpu_pct: 0.0, runs_per_s: 0.0, intervals: 0, lost: 0.0 }
    }
}

impl<V: View> View for WithCost<V> {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let mut measured = false;
        for rows in frame.rows.tables().filter(|rows| rows.table().id == metric::TABLE.id) {
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
        }
        self.intervals += u32::from(measured);
        self.inner.frame(frame, out);
    }

    fn end(&mut self, out: &mut String) {
        self.inner.end(out);
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
