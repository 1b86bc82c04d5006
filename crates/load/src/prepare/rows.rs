//! Deterministic rows: the same for a seed, a table and a row number, whatever connection inserts them and in whatever
//! order.

use fenxi_wire::decimal;
use sha2::{Digest, Sha256};

use crate::{
    random::Random,
    workload::{
        TablePlan,
        expr::{Frame, Item},
    },
};

/// Format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines with tabs, as COPY and LOAD DATA take them.
    Lines,
    /// `(…),(…)`, for a multi-row INSERT.
    Values,
}

/// Makes rows of one table.
#[derive(Debug)]
pub struct RowMaker<'a> {
    table: &'a TablePlan,
    seed: u64,
    slots: Vec<i64>,
    text: Vec<u8>,
}

impl<'a> RowMaker<'a> {
    /// Rows of `table` for a seed.
    pub fn new(table: &'a TablePlan, seed: u64) -> RowMaker<'a> {
        let hash = Sha256::digest(table.name.as_bytes());
        let own = hash.iter().take(8).fold(seed, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte));
        RowMaker { table, seed: own, slots: vec![0; table.slots], text: Vec::new() }
    }

    /// Adds a row; rows are counted from 1.
    pub fn write(&mut self, row: u64, form: Form, out: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, row);
        self.slots.fill(0);
        // No table has more rows than that.
        self.slots[0] = row as i64;
        if form == Form::Values {
            out.push(b'(');
        }
        for (place, item) in self.table.items.iter().enumerate() {
            if place > 0 {
                out.push(if form == Form::Lines { b'\t' } else { b',' });
            }
            let mut frame = Frame { slots: &mut self.slots, random: &mut random, turn: row };
            match item {
                Item::Number(number) => decimal(number.value(&mut frame), out),
                Item::Text(text) => {
                    self.text.clear();
                    text.write(&mut frame, &mut self.text);
                    put(&self.text, form, out);
                }
            }
        }
        out.extend_from_slice(if form == Form::Lines { b"\n" } else { b")" });
    }
}

fn put(text: &[u8], form: Form, out: &mut Vec<u8>) {
    if form == Form::Values {
        out.push(b'\'');
    }
    // Most texts need no escapes, and are copied whole.
    let plain = text.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\'')).unwrap_or(text.len());
    let (plain, rest) = text.split_at(plain);
    out.extend_from_slice(plain);
    for byte in rest {
        match (*byte, form) {
            (b'\\', _) => out.extend_from_slice(b"\\\\"),
            (b'\t', Form::Lines) => out.extend_from_slice(b"\\t"),
            (b'\n', Form::Lines) => out.extend_from_slice(b"\\n"),
            (b'\'', Form::Values) => out.extend_from_slice(b"''"),
            (other, _) => out.push(other),
        }
    }
    if form == Form::Values {
        out.push(b'\'');
    }
}

/// Identifies whether a table in the database is the one that is wanted: its rows, the seed, and how it is made.
pub fn fingerprint(table: &TablePlan, seed: u64) -> String {
    let how = format!("{:?} {:?} {:?} {:?}", table.create, table.after, table.columns, table.items);
    let hash: String = Sha256::digest(how).iter().take(6).map(|b| format!("{b:02x}")).collect();
    format!("rows {}, seed {seed}, form {hash}", table.rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use fenxi_wire::Dialect;

    fn written(name: &str, table: usize, seed: u64, row: u64, form: Form) -> String {
        let program = Workload::shipped(name).unwrap().compile(Dialect::Postgres).unwrap();
        let mut out = Vec::new();
        RowMaker::new(&program.tables[table], seed).write(row, form, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_is_the_same_for_its_seed_and_another_for_any_other() {
        let row = |seed, row| written("oltp_read_write", 0, seed, row, Form::Lines);
        assert_eq!(row(1, 7), row(1, 7));
        assert!(row(1, 7) != row(2, 7) && row(1, 7) != row(1, 8));
        let fields: Vec<_> = row(1, 7).trim_end().split('\t').map(str::to_owned).collect();
        assert_eq!((fields[0].as_str(), fields[2].len(), fields[3].len()), ("7", 119, 59));
    }

    #[test]
    fn rows_have_the_form_that_their_statement_wants() {
        assert_eq!(written("tpcb_like", 1, 1, 11, Form::Lines), "11\t2\t0\n");
        assert_eq!(written("tpcb_like", 2, 1, 3, Form::Values), "(3,1,0,'')");
        let mut out = Vec::new();
        put(b"a\t\\'\n", Form::Lines, &mut out);
        put(b"a\t\\'", Form::Values, &mut out);
        assert_eq!(out, b"a\\t\\\\'\\n'a\t\\\\'''");
    }
}
