//! The last rows, kept in memory until a trigger wants them or they are too old.

use std::collections::VecDeque;

use fenxi_model::{Rows, Shape};

/// Never are more rows kept than these, which take some 100 MB.
const MOST_ROWS: usize = 1_000_000;

/// Rows of the last ticks, the oldest first.
#[derive(Debug)]
pub(super) struct Ring {
    before_s: f64,
    ticks: VecDeque<(f64, Rows)>,
    n_rows: usize,
    most_rows: usize,
    /// Whether rows had to go before their time.
    was_full: bool,
}

impl Ring {
    /// Keeps the rows of the last `before_s` seconds.
    pub(super) fn new(before_s: f64) -> Ring {
        Ring { before_s, ticks: VecDeque::new(), n_rows: 0, most_rows: MOST_ROWS, was_full: false }
    }

    /// Keeps the rows of the tick at `now`; gives what of older ones is to be written although no trigger wanted them:
    /// events, facts and notes, which nothing may drop.
    pub(super) fn push(&mut self, now: f64, rows: Rows) -> Vec<Rows> {
        self.n_rows += rows.len();
        self.ticks.push_back((now, rows));
        let mut left = Vec::new();
        while let Some((t, _)) = self.ticks.front() {
            let is_full = self.n_rows > self.most_rows && self.ticks.len() > 1;
            // A tick covers the interval before it.
            if now - t < self.before_s && !is_full {
                break;
            }
            let Some((_, mut rows)) = self.ticks.pop_front() else { break };
            self.n_rows -= rows.len();
            if is_full && !std::mem::replace(&mut self.was_full, true) {
                let text = format!(
                    "less than {} s before a trigger is kept: that is more than {} rows",
                    self.before_s, self.most_rows
                );
                rows.note("", None, &text);
            }
            left.extend(without_series(rows));
        }
        left
    }

    /// All rows, the oldest first; nothing is kept any more.
    pub(super) fn drain(&mut self) -> Vec<Rows> {
        self.n_rows = 0;
        self.ticks.drain(..).map(|(_, rows)| rows).collect()
    }

    /// At the end: what may not be dropped.
    pub(super) fn rest(&mut self) -> Vec<Rows> {
        self.drain().into_iter().filter_map(without_series).collect()
    }
}

/// The rows that are no measurements; None when there are none.
fn without_series(mut rows: Rows) -> Option<Rows> {
    for table in rows.tables_mut().filter(|rows| matches!(rows.table().shape, Shape::Series | Shape::Distribution)) {
        drop(table.take());
    }
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use fenxi_model::{
        Micros,
        catalog::{event, sched},
    };

    use super::*;

    fn tick(at: i64, with_event: bool) -> Rows {
        let mut rows = Rows::new("here");
        rows.row(&sched::TABLE, Micros(at), 1.0).f64(sched::runnable, 1.0);
        if with_event {
            rows.event(Micros(at), "x", "y", "z");
        }
        rows
    }

    #[test]
    fn the_last_seconds_are_kept_and_events_are_never_lost() {
        let mut ring = Ring::new(3.0);
        let mut left = Vec::new();
        for t in 1..=10 {
            left.extend(ring.push(t as f64, tick(t, t == 2)));
        }
        let [lost] = left.try_into().unwrap();
        assert_eq!((lost.len(), lost.of(&event::TABLE).map(|events| events.n_rows())), (1, Some(1)));
        let kept: Vec<i64> =
            ring.drain().iter().map(|rows| rows.of(&sched::TABLE).unwrap().micros(0, sched::t).unwrap().0).collect();
        assert_eq!(kept, [8, 9, 10]);
        assert!(ring.drain().is_empty());
    }

    #[test]
    fn what_is_too_much_goes_early_and_is_noted() {
        let mut ring = Ring { most_rows: 3, ..Ring::new(60.0) };
        let left: Vec<Rows> = (1..=6).flat_map(|t| ring.push(t as f64, tick(t, false))).collect();
        assert_eq!(left.iter().map(Rows::len).collect::<Vec<_>>(), [1], "a note");
        assert_eq!(ring.drain().len(), 3);
    }

    #[test]
    fn at_the_end_only_what_may_not_be_dropped_is_left() {
        let mut ring = Ring::new(60.0);
        ring.push(1.0, tick(1, true));
        ring.push(2.0, tick(2, false));
        assert_eq!(ring.rest().iter().map(Rows::len).collect::<Vec<_>>(), [1]);
    }
}
