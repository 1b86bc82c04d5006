//! Places: the position of a column in its table, with the table and the column's type in the type.
//!
//! A row takes only places of its own table and a setter only those of its own type, so that a
//! value in a wrong column does not compile. At run time a place is its number.

use std::{fmt, marker::PhantomData};

use crate::Type;

/// Distinguishes one table's places from another's; each table of the catalogue has its own `Schema`.
///
/// `dyn AnySchema`, which [`Table`](crate::Table) and [`Row`](crate::Row) have by default, is
/// the schema of a table that is known only at run time: its columns are numbers, and their types are checked then.
pub trait AnySchema: fmt::Debug + Send + Sync + 'static {}

/// Type of the values in a column.
pub trait Value: 'static {
    /// How it is stored.
    const TYPE: Type;
}

/// A value that reads as a number.
pub trait Number: Value {}

/// A value that reads as a string.
pub trait Words: Value {}

/// Declares a type for each way in which a column is stored.
macro_rules! values {
    ($( $(#[doc = $doc:literal])+ $name:ident $(is $reads:ident)?, )+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}

        impl Value for $name {
            const TYPE: Type = Type::$name;
        }

        $( impl $reads for $name {} )?
    )+ };
}

values! {
    /// Of a [`Place`]: the column holds a 64-bit float.
    F64 is Number,
    /// Of a [`Place`]: the column holds a 64-bit signed integer.
    I64 is Number,
    /// Of a [`Place`]: the column holds one of few distinct strings.
    Label is Words,
    /// Of a [`Place`]: the column holds a string of any length.
    Text is Words,
    /// Of a [`Place`]: the column holds a moment.
    Time,
}

/// The position of a table's column: `S` is the table's schema, `V` the column's type.
///
/// A value of the right type goes into a column of the row's own table:
///
/// ```
/// use fenxi_model::{Micros, Rows, catalog::cpu};
///
/// let mut rows = Rows::new("host");
/// rows.row(&cpu::TABLE, Micros(5), 1.0).str(cpu::cpu, "0").f64(cpu::usr, 12.5);
/// assert_eq!(rows.of(&cpu::TABLE).and_then(|cpus| cpus.f64(0, cpu::usr)), Some(12.5));
/// ```
///
/// A column of another table does not compile:
///
/// ```compile_fail,E0308
/// # use fenxi_model::{Micros, Rows, catalog::{cpu, mem}};
/// # let mut rows = Rows::new("host");
/// rows.row(&cpu::TABLE, Micros(5), 1.0).f64(mem::free_bytes, 12.5);
/// ```
///
/// Nor does a value of another type than the column's:
///
/// ```compile_fail,E0308
/// # use fenxi_model::{Micros, Rows, catalog::cpu};
/// # let mut rows = Rows::new("host");
/// rows.row(&cpu::TABLE, Micros(5), 1.0).f64(cpu::cpu, 12.5);
/// ```
///
/// ```compile_fail,E0277
/// # use fenxi_model::{Micros, Rows, catalog::cpu};
/// # let mut rows = Rows::new("host");
/// rows.row(&cpu::TABLE, Micros(5), 1.0).f64(cpu::usr, "12.5");
/// ```
///
/// Rows are read in the same way:
///
/// ```compile_fail,E0308
/// # use fenxi_model::{Micros, Rows, catalog::{cpu, mem}};
/// # let rows = Rows::new("host");
/// rows.of(&cpu::TABLE).and_then(|cpus| cpus.f64(0, mem::free_bytes));
/// ```
///
/// ```compile_fail,E0277
/// # use fenxi_model::{Micros, Rows, catalog::cpu};
/// # let rows = Rows::new("host");
/// rows.of(&cpu::TABLE).and_then(|cpus| cpus.f64(0, cpu::cpu));
/// ```
#[derive(PartialEq, Eq)]
pub struct Place<S, V> {
    index: usize,
    of: PhantomData<(S, V)>,
}

impl<S, V> Place<S, V> {
    /// The place of the column that is number `index` of its table; only `table!` knows.
    pub(crate) const fn new(index: usize) -> Place<S, V> {
        Place { index, of: PhantomData }
    }

    /// The column's number in its table, from 0: for code that works on any table.
    pub const fn index(self) -> usize {
        self.index
    }
}

// Derived, these would ask the same of schemas, which are never values.
impl<S, V> Clone for Place<S, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, V> Copy for Place<S, V> {}

impl<S, V> fmt::Debug for Place<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.index)
    }
}
