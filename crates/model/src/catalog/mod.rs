//! The catalogue: every table and column of a run, as data.
//!
//! A table is one per *thing observed*, never one per tool. Whatever needs to know a column's
//! unit, kind or meaning (Parquet metadata, SQL comments, tooltips, the reference page, a
//! comparison's verdict) reads it from here. A new table is one `table!` and one name in the
//! list [`tables!`] at the end of this file.

use std::fmt;

use crate::{AnySchema, Place, Unit, words};

mod kinds;

/// Storage type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// 64-bit float; NULL where missing (NaN and infinities are stored as NULL).
    F64,
    /// 64-bit signed integer.
    I64,
    /// A string with few distinct values, dictionary encoded.
    Label,
    /// A string of any length, stored as it is.
    Text,
    /// Microseconds since the epoch, UTC.
    Time,
}

/// Kind of number in a column, which decides how it may be averaged and summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The end of the row's interval, or the moment of an event.
    Time,
    /// The length of the row's interval.
    Interval,
    /// A value at a moment, or a mean over the interval.
    Gauge,
    /// Events or amounts per second over the interval.
    Rate,
    /// A share of the interval or of a whole, 0 to 100.
    Percent,
    /// A key or another name to group by.
    Label,
    /// A number of events in the interval: it adds up.
    Count,
    /// Free text.
    Text,
}

/// Which direction is good news, for a comparison's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither by itself.
    Neither,
}

impl Better {
    /// Parses a direction as [`fmt::Display`] writes it; any other word is neither.
    pub fn parse(word: &str) -> Better {
        match word {
            "higher" => Better::Higher,
            "lower" => Better::Lower,
            _ => Better::Neither,
        }
    }
}

/// Statistic that a column holds over the events of an interval, which decides how values of several runs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// Their mean, or another figure.
    Mean,
    /// The smallest.
    Minimum,
    /// The largest.
    Maximum,
    /// A percentile: that of several runs cannot be had from those of each.
    Percentile,
}

words! {
    /// What a table or a question is about: the parts of a report and the groups of a comparison, in their order.
    Section {
        /// What the run achieved.
        Result = "result",
        /// Processors and the scheduler.
        Cpu = "cpu",
        /// Memory and paging.
        Memory = "memory",
        /// Block devices and file systems.
        Disk = "disk",
        /// Interfaces and protocols.
        Network = "network",
        /// Processes and control groups.
        Process = "process",
        /// GPUs.
        Gpu = "gpu",
        /// Hard and soft interrupts.
        Interrupt = "interrupt",
        /// Database servers.
        Database = "database",
        /// What the system was, and what could not be read.
        Facts = "facts",
    }
}

words! {
    /// What a table's rows are, hence whether they can be averaged, windowed and compared.
    Shape {
        /// Values over time.
        Series = "series",
        /// Parts of a distribution, which merge by adding: buckets, stacks.
        Distribution = "distribution",
        /// What holds for the whole run, whatever part of it is looked at.
        Facts = "facts",
        /// What happened at a moment.
        Events = "events",
    }
}

words! {
    /// Whether the keys of a table name things that another run has, too.
    Keys {
        /// They do, and are few, as devices: their series are compared one by one.
        Lasting = "lasting",
        /// They come and go, as processes, or are many, as interrupts of CPUs: their series are compared when asked for.
        Passing = "passing",
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::F64 => "double",
            Type::I64 => "bigint",
            Type::Label | Type::Text => "varchar",
            Type::Time => "timestamp",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Time => "time",
            Kind::Interval => "interval",
            Kind::Gauge => "gauge",
            Kind::Rate => "rate",
            Kind::Percent => "percent",
            Kind::Label => "label",
            Kind::Count => "count",
            Kind::Text => "text",
        })
    }
}

impl fmt::Display for Better {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        })
    }
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Lower snake case; ends in the unit where that is not obvious.
    pub name: &'static str,
    /// How it is stored.
    pub ty: Type,
    /// Its unit.
    pub unit: Unit,
    /// Kind of number.
    pub kind: Kind,
    /// Which direction is good.
    pub better: Better,
    /// Statistic over the events of the interval.
    pub statistic: Statistic,
    /// The smallest and the largest value that can be: what lies outside is no measurement.
    pub range: (f64, f64),
    /// True if its values name things of one run only, as process IDs do.
    pub is_of_one_run: bool,
    /// The column of the same table that counts the events whose mean it is: its mean over time is weighted by them. None where
    /// all time counts alike.
    pub mean_of: Option<&'static str>,
    /// Meaning of the column, and when it matters.
    pub doc: &'static str,
}

/// By how many percent points a share may lie outside of 0 to 100, and ten times that above: clocks and rounding of tools.
const TOLERANCE: f64 = 1.0;
/// More CPUs than any machine has.
const MOST_CPUS: f64 = 65536.0;

impl Column {
    const fn new(ty: Type, unit: Unit, kind: Kind, better: Better) -> Column {
        let range = match kind {
            Kind::Percent => (-TOLERANCE, 100.0 + 10.0 * TOLERANCE),
            // A difference of floats is not always exactly nothing.
            Kind::Rate | Kind::Count => (-1e-9, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Column {
            name: "",
            ty,
            unit,
            kind,
            better,
            statistic: Statistic::Mean,
            range,
            is_of_one_run: false,
            mean_of: None,
            doc: "",
        }
    }

    /// The same column under its name and meaning; used by `table!`.
    const fn named(mut self, name: &'static str, doc: &'static str) -> Column {
        self.name = name;
        self.doc = doc;
        self
    }

    /// The same column as a key: a number to group by.
    const fn as_key(mut self) -> Column {
        self.kind = Kind::Label;
        self
    }

    /// The same column as a share that may exceed 100 %: of one CPU, where several work.
    const fn beyond_100(mut self) -> Column {
        self.range.1 = 100.0 * MOST_CPUS;
        self
    }

    /// The same column, with names that only one run has.
    const fn of_one_run(mut self) -> Column {
        self.is_of_one_run = true;
        self
    }

    /// The same column as the mean of events, which `counted` has per second.
    const fn mean_of(mut self, counted: &'static str) -> Column {
        self.mean_of = Some(counted);
        self
    }

    /// The same column as the minimum of the interval.
    const fn minimum(mut self) -> Column {
        self.statistic = Statistic::Minimum;
        self
    }

    /// The same column as the maximum of the interval.
    const fn maximum(mut self) -> Column {
        self.statistic = Statistic::Maximum;
        self
    }

    /// The same column as a percentile of the interval.
    const fn percentile(mut self) -> Column {
        self.statistic = Statistic::Percentile;
        self
    }

    /// Returns true if the column holds a number that can be averaged (not time, interval or label).
    pub fn is_value(&self) -> bool {
        matches!(self.ty, Type::F64 | Type::I64)
            && matches!(self.kind, Kind::Gauge | Kind::Rate | Kind::Percent | Kind::Count)
    }
}

/// One thing observed: the declaration of a table.
///
/// `&cpu::TABLE` knows its schema, hence which places are its own, and goes wherever a `&Table` of
/// any schema is wanted.
pub struct Table<S: ?Sized = dyn AnySchema> {
    /// Its name in SQL and on disk.
    pub name: &'static str,
    /// Its place in [`TABLES`].
    pub id: TableId,
    /// Meaning of a row.
    pub doc: &'static str,
    /// Section of the report that it belongs to.
    pub section: Section,
    /// Shape of its rows: series, distribution, facts or events.
    pub shape: Shape,
    /// Stability of the keys from run to run.
    pub keys_are: Keys,
    /// Every column in order; the first three are always `t`, `dt`, `host`.
    pub columns: &'static [Column],
    /// How many columns after `host` distinguish rows of one moment.
    pub n_keys: usize,
    /// The last field, as the compiler forgets a type only there (`&Table<S>` to `&Table`).
    #[allow(dead_code, reason = "it is of use only as a type")]
    schema: S,
}

impl<S: ?Sized> fmt::Debug for Table<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", self.name)
    }
}

/// How many columns every table begins with: `t`, `dt`, `host`.
pub const N_COMMON: usize = 3;
/// Number of the column `t`, the end of the interval.
pub const T: usize = 0;
/// Number of the column `dt`, the interval's length in seconds.
pub const DT: usize = 1;
/// Number of the column `host`.
pub const HOST: usize = 2;

impl<S: ?Sized> Table<S> {
    /// The columns that distinguish the rows of one moment and host.
    pub fn keys(&self) -> &'static [Column] {
        &self.columns[N_COMMON..N_COMMON + self.n_keys]
    }

    /// The number of the column called `name`.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}

impl<S> Table<S> {
    /// The column at `place`.
    pub const fn column<V>(&self, place: Place<S, V>) -> &'static Column {
        &self.columns[place.index()]
    }
}

/// The table called `name`.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().copied().find(|t| t.name == name)
}

/// Declares a table: its doc comment, name, keys, [`Section`], [`Shape`] and [`Keys`], and columns with their doc comments.
///
/// It becomes a module of that name with `TABLE`, its `Schema` and, for each column, a constant of
/// the column's own name holding its [`Place`](crate::Place), so that a collector writes
/// `row.f64(cpu::usr, 12.5)`.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $name:ident [$($key:ident),*] is ($section:ident, $shape:ident, $keys:ident) {
            $( $(#[doc = $cdoc:literal])+ $col:ident: $kind:ident($($arg:expr),*)$(.$change:ident($($with:expr),*))*, )+
        }
    ) => {
        $(#[doc = $doc])+
        #[allow(non_upper_case_globals, reason = "a constant carries its column's name, which SQL sees too")]
        pub mod $name {
            use $crate::{Place, catalog::kinds};

            /// Distinguishes this table's places and rows from those of others.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct Schema;

            impl $crate::AnySchema for Schema {}

            #[allow(non_camel_case_types, dead_code, clippy::enum_variant_names)]
            enum Index { t, dt, host, $($col),+ }
            /// End of the interval.
            pub const t: Place<Schema, kinds::time> = Place::new($crate::catalog::T);
            /// Length of the interval in seconds.
            pub const dt: Place<Schema, kinds::interval> = Place::new($crate::catalog::DT);
            /// The host observed.
            pub const host: Place<Schema, kinds::label> = Place::new($crate::catalog::HOST);
            $( $(#[doc = $cdoc])+ pub const $col: Place<Schema, kinds::$kind> = Place::new(Index::$col as usize); )+
            pub use declaration::TABLE;

            // Apart from the constants above, which may carry the name of a constructor (`count`).
            mod declaration {
                #[allow(unused_imports)]
                use $crate::{
                    Unit::{self, *},
                    catalog::{
                        Better::*, Column, Keys, Section, Shape, Table, TableId, dt_column, host_column, kinds, line,
                        t_column,
                    },
                };

                /// The declaration of this table.
                pub static TABLE: Table<super::Schema> = Table {
                    name: stringify!($name),
                    id: TableId::$name,
                    doc: line(concat!($($doc),+)),
                    section: Section::$section,
                    shape: Shape::$shape,
                    keys_are: Keys::$keys,
                    columns: &[
                        t_column(), dt_column(), host_column(),
                        $( kinds::$kind($($arg),*)$(.$change($($with),*))*.named(stringify!($col), line(concat!($($cdoc),+))) ),+
                    ],
                    n_keys: { const KEYS: &[&str] = &[$(stringify!($key)),*]; KEYS.len() },
                    schema: super::Schema,
                };
            }
        }
    };
}

/// A doc comment's text without the blank that follows the slashes.
const fn line(doc: &str) -> &str {
    doc.split_at(1).1
}

const fn t_column() -> Column {
    kinds::time().named("t", "End of the interval that the row describes, UTC.")
}

const fn dt_column() -> Column {
    kinds::interval()
        .named("dt", "Length of the interval in seconds; an exact mean over any window is sum(x*dt)/sum(dt).")
}

const fn host_column() -> Column {
    kinds::label().named("host", "Name of the host observed.")
}

/// Declares the files of the catalogue and which tables each holds, in the order of the reference.
macro_rules! tables {
    ($( $file:ident: $($name:ident),+; )+) => {
        $( mod $file; pub use $file::{$($name),+}; )+

        /// A table's place in [`TABLES`].
        #[allow(non_camel_case_types, missing_docs, reason = "each is documented at its table")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum TableId { $($($name),+),+ }

        /// Every table there is.
        pub static TABLES: &[&Table] = &[$($(&$name::TABLE),+),+];
    };
}

tables! {
    cpu_tables: cpu, cpu_time, cpu_idle, sched, pressure;
    memory: mem, vm, page_cache, file_cache;
    storage: disk, fs;
    network: net, tcp, udp, netns, softnet, net_driver;
    interrupts: irq, softirq;
    tasks: process, thread, thread_wait, cgroup;
    gpus: gpu, gpu_process;
    database: db, db_table, db_index, db_statement, db_session, db_wait, db_statement_wait, db_setting;
    database_work: db_lock, db_io, db_wal, db_checkpoint, db_replication, db_progress, db_pool, db_plan;
    observers: syscall, lock, pin, io_pattern, block_io, cache_access, run_queue, query, preemption, stack;
    results: load, histogram, metric, result;
    facts: text, event, agent, note;
}

#[cfg(test)]
mod tests;
