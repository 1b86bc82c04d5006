//! Declarations of columns of the catalogue: `label()`, `gauge(Bytes, Lower)` and so on.

use super::{Better, Column, Kind};
use crate::{
    Unit,
    place::{F64, I64, Label, Text, Time, Value},
};

/// Declares constructors of columns. Each has a type of the same name, the one that its
/// values have, so that `table!` derives the type of a place from the column's declaration.
macro_rules! kinds {
    ($( $(#[doc = $doc:literal])+ $name:ident($($arg:ident: $of:ty),*): $value:ident, $unit:expr, $kind:ident, $better:expr; )+) => { $(
        $(#[doc = $doc])+
        pub const fn $name($($arg: $of),*) -> Column {
            Column::new(<$name as Value>::TYPE, $unit, Kind::$kind, $better)
        }

        $(#[doc = $doc])+
        #[allow(non_camel_case_types, reason = "it is found by the constructor's name")]
        pub type $name = $value;
    )+ };
}

kinds! {
    /// The end of the row's interval, or the moment of an event.
    time(): Time, Unit::None, Time, Better::Neither;
    /// The length of the row's interval.
    interval(): F64, Unit::Seconds, Interval, Better::Neither;
    /// A key or another name to group by.
    label(): Label, Unit::None, Label, Better::Neither;
    /// A key that is a number (a process id, a CPU is a label as it can be "all").
    id(): I64, Unit::None, Label, Better::Neither;
    /// Free text.
    text(): Text, Unit::None, Text, Better::Neither;
    /// A share, 0 to 100.
    percent(better: Better): F64, Unit::Percent, Percent, better;
    /// A value at a moment or a mean over the interval.
    gauge(unit: Unit, better: Better): F64, unit, Gauge, better;
    /// Something per second.
    rate(unit: Unit, better: Better): F64, unit, Rate, better;
    /// A number of events, which adds up over intervals.
    count(better: Better): F64, Unit::Count, Count, better;
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Kind, TABLES};

    #[test]
    fn a_mean_of_events_names_their_rate_in_its_table() {
        let of_events = TABLES.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        let of_events: Vec<_> =
            of_events.filter_map(|(table, column)| Some((table, column, column.mean_of?))).collect();
        assert!(of_events.len() >= 4);
        for (table, column, events) in of_events {
            let rate = table.columns.iter().find(|c| c.name == events);
            assert!(rate.is_some_and(|c| c.kind == Kind::Rate), "{}.{}: {events}", table.name, column.name);
        }
    }
}
