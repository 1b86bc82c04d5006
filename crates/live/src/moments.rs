//! Frames from rows in portions of any size, such as saved output of other tools.

use std::ops::ControlFlow;

use fenxi_model::{
    Micros, Rows, Table, TableRows, Type,
    catalog::{DT, HOST, T, note},
};

use crate::Frame;

/// Gathers the rows of one moment after the other.
#[derive(Debug)]
pub struct Moments {
    tables: Vec<&'static Table>,
    /// The rows of the moment at hand.
    rows: Rows,
    at: Option<(Micros, bool)>,
    dt: f64,
    order: Vec<(i64, usize, usize)>,
}

impl Moments {
    /// Frames with the rows of `tables` and with notes.
    pub fn new(tables: &[&'static Table]) -> Moments {
        let mut tables = tables.to_vec();
        tables.push(&note::TABLE);
        Moments { tables, rows: Rows::new(""), at: None, dt: 0.0, order: Vec::new() }
    }

    /// Takes a portion of rows, and shows every moment that another one follows.
    pub fn take(
        &mut self,
        rows: &Rows,
        since_boot: bool,
        show: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let parts: Vec<&TableRows> = rows.tables().filter(|t| self.wants(t.table())).collect();
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        for (part, table) in parts.iter().enumerate() {
            // Rows without a time belong to whatever is at hand.
            let moment = |row| table.micros(row, T).map_or(i64::MIN, |t| t.0);
            order.extend((0..table.n_rows()).map(|row| (moment(row), part, row)));
        }
        order.sort_by_key(|(t, _, _)| *t);
        let mut flow = ControlFlow::Continue(());
        for (t, part, row) in &order {
            let table = parts[*part];
            if *t != i64::MIN && self.at != Some((Micros(*t), since_boot)) {
                flow = self.show(show);
                if flow.is_break() {
                    break;
                }
                self.at = Some((Micros(*t), since_boot));
            }
            if let Some(host) = table.str(*row, HOST) {
                self.rows.set_host(host);
            }
            self.dt = self.dt.max(table.f64(*row, DT).unwrap_or(0.0));
            copy(table, *row, &mut self.rows);
        }
        self.order = order;
        flow
    }

    fn wants(&self, table: &Table) -> bool {
        self.tables.iter().any(|wanted| wanted.id == table.id)
    }

    /// Shows what is at hand and begins anew.
    fn show(&mut self, show: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let Some((t, since_boot)) = self.at.take() else { return ControlFlow::Continue(()) };
        let flow = show(&Frame { t, dt: self.dt, since_boot, rows: &self.rows });
        self.rows.clear();
        self.dt = 0.0;
        flow
    }

    /// There is no more: shows the last moment. Gives the notes of rows that have no moment at all.
    pub fn end(mut self, show: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>) -> Rows {
        let _ = self.show(show);
        self.rows
    }
}

pub(crate) fn copy(from: &TableRows, row: usize, into: &mut Rows) {
    let mut new = into.row(from.table(), from.micros(row, T), from.f64(row, DT));
    for (place, column) in from.table().columns.iter().enumerate().skip(HOST + 1) {
        match column.ty {
            Type::F64 => new.f64(place, from.f64(row, place)),
            Type::I64 => new.i64(place, from.i64(row, place)),
            Type::Time => new.time(place, from.micros(row, place)),
            Type::Label | Type::Text => new.str(place, from.str(row, place)),
        };
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::catalog::{cpu, irq, sched};

    use super::*;

    #[test]
    fn a_moment_may_come_in_two_portions_and_without_what_nobody_wants() {
        let mut moments = Moments::new(&[&cpu::TABLE, &irq::TABLE]);
        let mut seen = Vec::new();
        let mut show = |frame: &Frame<'_>| {
            seen.push((frame.t.0, frame.dt, frame.since_boot, frame.rows.len(), frame.rows.host().to_owned()));
            ControlFlow::Continue(())
        };
        let mut rows = Rows::new("h");
        rows.row(&cpu::TABLE, Micros(5), None).f64(cpu::usr, 1.0);
        let _ = moments.take(&rows, true, &mut show);
        rows.clear();
        rows.note("f", None, "odd");
        rows.row(&cpu::TABLE, Micros(6), 1.0).f64(cpu::usr, 1.0);
        rows.row(&sched::TABLE, Micros(6), 1.0).f64(sched::load1, 1.0);
        rows.row(&cpu::TABLE, Micros(7), 1.0).f64(cpu::usr, 1.0);
        let _ = moments.take(&rows, false, &mut show);
        rows.clear();
        rows.row(&irq::TABLE, Micros(7), 1.5).f64(irq::intr_per_s, 1.0);
        let _ = moments.take(&rows, false, &mut show);
        assert!(moments.end(&mut show).is_empty());
        let h = || "h".to_owned();
        assert_eq!(seen, [(5, 0.0, true, 2, h()), (6, 1.0, false, 1, h()), (7, 1.5, false, 2, h())]);
    }
}
