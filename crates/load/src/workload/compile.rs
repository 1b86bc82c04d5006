//! Compiler of workloads: numbers instead of names, and one statement per table it can address.

use std::collections::BTreeMap;

use super::{
    DISTRIBUTION, Setting, Step, Table, TransactionSpec, Workload,
    expr::{Expr, Item, Operator},
    parse::{Names, expr, item},
    sql::{constant, expanded, statement},
};
use crate::random::Distribution;
use fenxi_wire::{Dialect, Statement};

/// The name of the number of a table among its likes.
const INSTANCE: &str = "n";
/// The name of the number of a row.
const ROW: &str = "row";
/// More tables are somebody's mistake.
const MAX_INSTANCES: i64 = 100_000;

/// Kind of statement: read, write or other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It reads rows.
    Read,
    /// It changes rows.
    Write,
    /// Anything else, as BEGIN.
    Other,
}

/// A statement and its values.
#[derive(Clone, Debug)]
pub struct Call {
    /// The statement.
    pub statement: Statement,
    /// Values of its parameters.
    pub values: Box<[Item]>,
    /// Kind of statement.
    pub kind: Kind,
}

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Computes a number for what it assigns.
    Compute(Expr),
    /// Goes on at another step when the number is 0 or less.
    Unless(Expr, usize),
    /// Goes on at another step.
    Jump(usize),
    /// Executes one of `count` calls from `first` on: the one of the table with that number, which begins with 1.
    Run {
        /// The call for the first table.
        first: usize,
        /// How many tables.
        count: usize,
        /// The number of the table.
        table: Expr,
    },
    /// Waits that many microseconds.
    Think(Expr),
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// Its share, as the sum of its weight and of all before it.
    pub weights: u64,
    /// Percent of its executions that end with the connection.
    pub reconnect_pct: Option<Expr>,
    /// Operations.
    pub ops: Vec<Op>,
}

/// A table to be made and filled.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// Its name.
    pub name: String,
    /// Columns that are filled.
    pub columns: Vec<String>,
    /// Values of the columns; slot 0 is the number of the row, from 1.
    pub items: Vec<Item>,
    /// How many slots the items use.
    pub slots: usize,
    /// How many rows.
    pub rows: u64,
    /// Statements that make it.
    pub create: Vec<String>,
    /// Statements for when it is filled: keys and indexes.
    pub after: Vec<String>,
}

/// A workload that can be run.
#[derive(Clone, Debug)]
pub struct Program {
    /// For which servers.
    pub dialect: Dialect,
    /// Its tables.
    pub tables: Vec<TablePlan>,
    /// All that can be called.
    pub calls: Vec<Call>,
    /// Its transactions.
    pub transactions: Vec<Transaction>,
    /// How many numbers a transaction has to remember.
    pub slots: usize,
    /// Percent of connections that stay idle.
    pub idle_pct: i64,
}

struct Compiler<'a> {
    dialect: Dialect,
    names: Names,
    words: BTreeMap<String, String>,
    instances: i64,
    calls: Vec<Call>,
    /// The number of each text.
    known: BTreeMap<Box<str>, u32>,
    workload: &'a Workload,
}

/// Compiles a workload.
pub fn compile(workload: &Workload, dialect: Dialect) -> Result<Program, String> {
    let mut compiler = Compiler {
        dialect,
        names: Names::default(),
        words: BTreeMap::new(),
        instances: 1,
        calls: Vec::new(),
        known: BTreeMap::new(),
        workload,
    };
    compiler.options()?;
    let tables = compiler.tables()?;
    let mut transactions = Vec::new();
    let mut weights = 0;
    for spec in &workload.transaction {
        let weight = compiler.constant(spec.weight.as_deref().unwrap_or("1"))?;
        weights += u64::try_from(weight).map_err(|_| format!("transaction {}: invalid weight {weight}", spec.name))?;
        let transaction = compiler.transaction(spec, weights).map_err(|e| format!("transaction {}: {e}", spec.name))?;
        transactions.push(transaction);
    }
    if weights == 0 {
        return Err("all transactions have the weight 0".to_owned());
    }
    let idle_pct = compiler.constant(workload.idle_pct.as_deref().unwrap_or("0"))?;
    if !(0..100).contains(&idle_pct) {
        return Err(format!("{idle_pct} % of connections are idle; it can be 0 to 99"));
    }
    let slots = compiler.names.slots.len();
    Ok(Program { dialect, tables, calls: compiler.calls, transactions, slots, idle_pct })
}

impl Compiler<'_> {
    fn options(&mut self) -> Result<(), String> {
        for (key, option) in &self.workload.options {
            match &option.value {
                Setting::Number(number) => {
                    self.names.constants.insert(key.clone(), *number);
                }
                Setting::Word(word) => {
                    self.words.insert(key.clone(), word.clone());
                    if key == DISTRIBUTION {
                        let draw = Distribution::parse(word);
                        self.names.draw =
                            Some(draw.ok_or_else(|| {
                                format!("`{DISTRIBUTION}` is {word}; it can be {}", Distribution::NAMES)
                            })?);
                    }
                }
            }
        }
        Ok(())
    }

    fn constant(&mut self, text: &str) -> Result<i64, String> {
        constant(text, &mut self.names)
    }

    /// Sets the number of the table that statements are for.
    fn set_instance(&mut self, number: i64) {
        self.names.constants.insert(INSTANCE.to_owned(), number);
    }

    fn tables(&mut self) -> Result<Vec<TablePlan>, String> {
        let mut plans = Vec::new();
        for table in &self.workload.table {
            let instances = self.constant(table.instances.as_deref().unwrap_or("1"))?;
            if !(1..=MAX_INSTANCES).contains(&instances) {
                return Err(format!(
                    "table {}: there are {instances} of it; it can be 1 to {MAX_INSTANCES}",
                    table.name
                ));
            }
            self.instances = self.instances.max(instances);
            for number in 1..=instances {
                self.set_instance(number);
                plans.push(self.table(table).map_err(|e| format!("table {}: {e}", table.name))?);
            }
        }
        Ok(plans)
    }

    fn table(&mut self, table: &Table) -> Result<TablePlan, String> {
        let mut names = Names { slots: vec![ROW.to_owned()], ..self.names.clone() };
        let mut items = Vec::new();
        for (column, text) in &table.columns {
            items.push(item(text, &mut names).map_err(|e| format!("column {column}: {e}"))?);
        }
        let rows = self.constant(&table.rows)?;
        let texts = |compiler: &mut Self, texts: &[String]| -> Result<Vec<String>, String> {
            texts.iter().map(|text| expanded(text, &mut compiler.names, &compiler.words)).collect()
        };
        Ok(TablePlan {
            name: expanded(&table.name, &mut self.names, &self.words)?,
            columns: table.columns.iter().map(|(name, _)| name.clone()).collect(),
            items,
            slots: names.slots.len(),
            rows: u64::try_from(rows).map_err(|_| format!("it has {rows} rows"))?,
            create: texts(self, table.create.of(self.dialect).as_slice())?,
            after: match &table.after {
                Some(after) => texts(self, after.of(self.dialect))?,
                None => Vec::new(),
            },
        })
    }

    fn transaction(&mut self, spec: &TransactionSpec, weights: u64) -> Result<Transaction, String> {
        let mut ops = Vec::new();
        for step in &spec.step {
            self.step(step, &mut ops)?;
        }
        let reconnect_pct = spec.reconnect_pct.as_deref().map(|text| expr(text, &mut self.names)).transpose()?;
        Ok(Transaction { name: spec.name.clone(), weights, reconnect_pct, ops })
    }

    fn step(&mut self, step: &Step, ops: &mut Vec<Op>) -> Result<(), String> {
        let mut to_end = Vec::new();
        if let Some(when) = &step.when {
            to_end.push(ops.len());
            ops.push(Op::Unless(expr(when, &mut self.names)?, 0));
        }
        let mut counter = None;
        if let Some(repeat) = &step.repeat {
            // A name that no workload can write.
            let slot = self.names.slot(&format!("{}.left", ops.len()));
            let count = expr(repeat, &mut self.names)?;
            ops.push(Op::Compute(Expr::Assign(slot, Box::new(count))));
            counter = Some((slot, ops.len()));
            to_end.push(ops.len());
            ops.push(Op::Unless(Expr::Slot(slot), 0));
        }
        for text in &step.lets {
            ops.push(Op::Compute(expr(text, &mut self.names)?));
        }
        if let Some(sql) = &step.sql {
            // Statements of a step go to the same table.
            let slot = self.names.slot(".table");
            let table = expr(step.table.as_deref().unwrap_or("1"), &mut self.names)?;
            ops.push(Op::Compute(Expr::Assign(slot, Box::new(table))));
            for text in sql.of(self.dialect).as_slice() {
                ops.push(self.run(text, Expr::Slot(slot))?);
            }
        }
        if let Some(think) = &step.think_us {
            ops.push(Op::Think(expr(think, &mut self.names)?));
        }
        if let Some((slot, begin)) = counter {
            let less = Expr::Both(Operator::Subtract, Box::new(Expr::Slot(slot)), Box::new(Expr::Number(1)));
            ops.push(Op::Compute(Expr::Assign(slot, Box::new(less))));
            ops.push(Op::Jump(begin));
        }
        let end = ops.len();
        for at in to_end {
            if let Some(Op::Unless(_, to)) = ops.get_mut(at) {
                *to = end;
            }
        }
        Ok(())
    }

    fn run(&mut self, text: &str, table: Expr) -> Result<Op, String> {
        let first = self.calls.len();
        for number in 1..=self.instances {
            self.set_instance(number);
            let (pieces, values) = statement(text, &mut self.names, &self.words)?;
            // The same text is the same statement, so that it is prepared once.
            let place = u32::try_from(self.calls.len()).map_err(|_| "there are too many statements".to_owned())?;
            let mut statement = Statement::new(self.dialect, place, pieces);
            statement.number = *self.known.entry(statement.text.clone()).or_insert(place);
            let same = self.calls.get(first).is_some_and(|call| call.statement.number == statement.number);
            if !same {
                self.calls.push(Call { kind: kind(&statement.text), statement, values: values.into() });
            }
        }
        self.set_instance(1);
        Ok(Op::Run { first, count: self.calls.len() - first, table })
    }
}

/// Kind of a statement, by its first word.
fn kind(text: &str) -> Kind {
    let word = text.split_ascii_whitespace().next().unwrap_or("").to_ascii_uppercase();
    match word.as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" | "SHOW" => Kind::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" | "TRUNCATE" => Kind::Write,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::Random,
        workload::{SHIPPED, expr::Frame},
    };

    /// The statements of one execution, with their values as they are.
    fn trace(program: &Program, transaction: usize) -> Vec<String> {
        let mut slots = vec![0; program.slots];
        let mut random = Random::new(1, 1);
        let mut frame = Frame { slots: &mut slots, random: &mut random, turn: 0 };
        let (mut at, mut seen) = (0, Vec::new());
        let ops = &program.transactions[transaction].ops;
        while let Some(op) = ops.get(at) {
            at += 1;
            match op {
                Op::Compute(value) => {
                    value.value(&mut frame);
                }
                Op::Unless(value, to) => at = if value.value(&mut frame) <= 0 { *to } else { at },
                Op::Jump(to) => at = *to,
                Op::Run { first, count, table } => {
                    let number = table.value(&mut frame) as usize;
                    assert!(*count == 1 || (1..=*count).contains(&number));
                    let call = &program.calls[first + if *count == 1 { 0 } else { number - 1 }];
                    assert_eq!(call.values.len(), call.statement.values());
                    seen.push(call.statement.text.to_string());
                }
                Op::Think(_) => seen.push("think".to_owned()),
            }
        }
        seen
    }

    #[test]
    fn every_shipped_workload_compiles_for_both_servers() {
        for (name, _) in SHIPPED {
            let mut workload = Workload::shipped(name).unwrap();
            if workload.options.contains_key("tables") {
                workload.set("tables", "3").unwrap();
            }
            for dialect in [Dialect::Postgres, Dialect::Mysql] {
                let program = workload.compile(dialect).unwrap();
                for transaction in 0..program.transactions.len() {
                    assert!(!trace(&program, transaction).is_empty(), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_read_write_transaction_is_that_of_sysbench() {
        let mut workload = Workload::shipped("oltp_read_write").unwrap();
        let program = workload.compile(Dialect::Mysql).unwrap();
        let seen = trace(&program, 0);
        // 10 points, 4 ranges, 2 updates, a deletion and an insertion, BEGIN and COMMIT: sysbench's 20 queries.
        assert_eq!(seen.len(), 20);
        assert_eq!((seen[0].as_str(), seen[19].as_str()), ("BEGIN", "COMMIT"));
        assert_eq!(seen[1], "SELECT c FROM sbtest1 WHERE id=?");
        assert_eq!(seen[18], "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)");
        workload.set("skip_trx", "1").unwrap();
        assert_eq!(trace(&workload.compile(Dialect::Mysql).unwrap(), 0).len(), 18);
    }

    #[test]
    fn the_same_text_is_one_statement_and_each_table_another() {
        let text = "about = 'x'\n[options.tables]\nvalue = 2\nabout = 'x'\n[[table]]\nname = 't{n}'\ninstances = 'tables'\n\
                    rows = '1'\ncolumns = [['id', 'row']]\ncreate = 'CREATE'\n[[transaction]]\nname = 'x'\n\
                    [[transaction.step]]\nrepeat = '2'\ntable = 'uniform(1, tables)'\nsql = ['SELECT 1', 'SELECT {n}']\n";
        let program = Workload::parse("test", text).unwrap().compile(Dialect::Postgres).unwrap();
        let texts: Vec<_> = program.calls.iter().map(|c| (c.statement.number, &*c.statement.text)).collect();
        assert_eq!(texts, [(0, "SELECT 1"), (0, "SELECT 1"), (2, "SELECT 2")]);
        assert_eq!(trace(&program, 0).len(), 4);
    }

    #[test]
    fn the_workload_of_the_guide_compiles() {
        let guide = include_str!("../../../../docs/load.md");
        let text = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let program = Workload::parse("guide", text).unwrap().compile(Dialect::Postgres).unwrap();
        assert_eq!(trace(&program, 0).len(), 8);
        assert_eq!(program.tables[0].rows, 10_000);
    }

    #[test]
    fn errors_name_the_place() {
        let broken = |step: &str| {
            let text = format!("about = 'x'\n[[transaction]]\nname = 'main'\n[[transaction.step]]\n{step}\n");
            let workload = Workload::parse("mine.toml", &text);
            workload.and_then(|w| w.compile(Dialect::Mysql)).unwrap_err().to_string()
        };
        assert_eq!(
            broken("sql = 'SELECT :x'"),
            "workload mine.toml: transaction main: `x`: unknown name `x`; known are .table, n"
        );
        assert!(broken("sqll = 'SELECT 1'").contains("sqll"));
    }
}
