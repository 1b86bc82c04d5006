//! Units as formats' files write them behind a value, and what a value in them is in a column's unit.

use fenxi_model::Unit;

use super::document::perhaps;

/// Measured quantity, whatever the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Plain,
    Bytes,
    Time,
    Share,
    Frequency,
    Power,
    Temperature,
}

/// Divisor that turns values into those of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Per {
    /// They are what the column holds, or already per second.
    Value,
    /// The length of the interval: they count what happened in it.
    Interval,
    /// They only grow: what counts is the difference between two of them, per second.
    Total,
    /// As the first values show: either they only grow, or they are per second already.
    Shown,
}

/// How a value becomes that of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Conversion {
    pub(super) factor: f64,
    pub(super) per: Per,
    /// The value carries its unit's prefix itself (`1.5M`); a `k` of it is so many.
    pub(super) prefixed: Option<f64>,
}

/// Units that are known, what they measure, and how much of its base one is: a byte, a second, a part, a hertz, a watt, a degree Celsius.
const UNITS: &[(&str, Dimension, f64)] = &[
    ("B", Dimension::Bytes, 1.0),
    ("kB", Dimension::Bytes, 1e3),
    ("MB", Dimension::Bytes, 1e6),
    ("GB", Dimension::Bytes, 1e9),
    ("TB", Dimension::Bytes, 1e12),
    ("KiB", Dimension::Bytes, 1024.0),
    ("MiB", Dimension::Bytes, 1_048_576.0),
    ("GiB", Dimension::Bytes, 1_073_741_824.0),
    ("TiB", Dimension::Bytes, 1_099_511_627_776.0),
    ("sectors", Dimension::Bytes, 512.0),
    ("bit", Dimension::Bytes, 0.125),
    ("kbit", Dimension::Bytes, 125.0),
    ("Mbit", Dimension::Bytes, 125e3),
    ("Gbit", Dimension::Bytes, 125e6),
    ("ns", Dimension::Time, 1e-9),
    ("us", Dimension::Time, 1e-6),
    ("ms", Dimension::Time, 1e-3),
    ("s", Dimension::Time, 1.0),
    ("min", Dimension::Time, 60.0),
    ("h", Dimension::Time, 3600.0),
    ("%", Dimension::Share, 0.01),
    ("ratio", Dimension::Share, 1.0),
    ("cores", Dimension::Share, 1.0),
    ("Hz", Dimension::Frequency, 1.0),
    ("kHz", Dimension::Frequency, 1e3),
    ("MHz", Dimension::Frequency, 1e6),
    ("GHz", Dimension::Frequency, 1e9),
    ("mW", Dimension::Power, 1e-3),
    ("W", Dimension::Power, 1.0),
    ("kW", Dimension::Power, 1e3),
    ("°C", Dimension::Temperature, 1.0),
    ("C", Dimension::Temperature, 1.0),
    ("k", Dimension::Plain, 1e3),
    ("M", Dimension::Plain, 1e6),
    ("G", Dimension::Plain, 1e9),
];

/// Units of time that a rate may be per, and the divisor of values.
const RATES: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3), ("min", 60.0), ("h", 3600.0)];

/// Content of a column: its quantity, how much of its base its unit is, and whether it is per second.
fn of_column(unit: Unit) -> (Dimension, f64, bool) {
    match unit {
        Unit::None | Unit::Count => (Dimension::Plain, 1.0, false),
        Unit::Percent => (Dimension::Share, 0.01, false),
        Unit::Bytes => (Dimension::Bytes, 1.0, false),
        Unit::BytesPerS => (Dimension::Bytes, 1.0, true),
        Unit::PerS => (Dimension::Plain, 1.0, true),
        Unit::Seconds => (Dimension::Time, 1.0, false),
        Unit::Milliseconds => (Dimension::Time, 1e-3, false),
        Unit::Microseconds => (Dimension::Time, 1e-6, false),
        Unit::MegabitsPerS => (Dimension::Bytes, 125e3, true),
        Unit::Hertz => (Dimension::Frequency, 1.0, false),
        Unit::Watts => (Dimension::Power, 1.0, false),
        Unit::Celsius => (Dimension::Temperature, 1.0, false),
        Unit::CpuSecondsPerS | Unit::SecondsPerS => (Dimension::Time, 1.0, true),
    }
}

/// Units that a column takes, for messages.
fn taken(dimension: Dimension, rate: bool) -> String {
    let units: Vec<&str> = UNITS.iter().filter(|(_, of, _)| *of == dimension).map(|(name, _, _)| *name).collect();
    let units = units.join(", ");
    if rate {
        format!("expected one of {units} (or none), then `/s`, `/ms`, `/min`, `/h`, `/interval` or ` total`")
    } else {
        format!("expected one of {units}, `auto`, `auto1000`, `auto1024`, or none for the column's own")
    }
}

/// How values become those of a column whose rows say their units themselves: bytes, seconds, percent, and so on per second.
///
/// # Errors
/// As [`conversion`].
pub(super) fn free_conversion(text: &str) -> Result<Conversion, String> {
    conversion(text, free_unit(text))
}

/// The unit in which such a column holds values that are written in `text`.
pub(super) fn free_unit(text: &str) -> Unit {
    let quantity = text.strip_suffix("total").or_else(|| text.rsplit_once('/').map(|(quantity, _)| quantity));
    let name = quantity.unwrap_or(text).trim_end();
    let dimension = UNITS.iter().find(|(known, _, _)| *known == name).map(|(_, dimension, _)| *dimension);
    match (dimension, quantity.is_some()) {
        (Some(Dimension::Bytes), false) => Unit::Bytes,
        (Some(Dimension::Bytes), true) => Unit::BytesPerS,
        (Some(Dimension::Time), false) => Unit::Seconds,
        (Some(Dimension::Time), true) => Unit::SecondsPerS,
        (Some(Dimension::Share), _) => Unit::Percent,
        (Some(Dimension::Frequency), _) => Unit::Hertz,
        (Some(Dimension::Power), false) => Unit::Watts,
        (Some(Dimension::Temperature), false) => Unit::Celsius,
        (_, true) => Unit::PerS,
        (_, false) => Unit::None,
    }
}

/// How values become those of a column in `unit` whose values are written in `text`.
///
/// # Errors
/// When the unit is not known, or measures something else; with those that the column takes.
pub(super) fn conversion(text: &str, unit: Unit) -> Result<Conversion, String> {
    let (dimension, own, rate) = of_column(unit);
    let own_symbol = if unit.symbol().is_empty() { "plain numbers" } else { unit.symbol() };
    if text.is_empty() || text == unit.symbol() {
        return Ok(Conversion { factor: 1.0, per: Per::Value, prefixed: None });
    }
    let refused = |why: &str| Err(format!("{why}; the column is in {own_symbol}: {}", taken(dimension, rate)));
    let (quantity, per, divisor) = match (text.strip_suffix("total"), text.rsplit_once('/')) {
        (Some(quantity), _) => (quantity.trim_end(), Per::Total, 1.0),
        (None, Some((quantity, "interval"))) => (quantity.trim_end(), Per::Interval, 1.0),
        (None, Some((quantity, of))) => match RATES.iter().find(|(name, _)| *name == of) {
            Some((_, seconds)) => (quantity.trim_end(), Per::Value, *seconds),
            None => return refused(&format!("`/{of}` is no rate")),
        },
        (None, None) => (text, Per::Value, 1.0),
    };
    let is_rate = per != Per::Value || text.contains('/');
    if is_rate != rate {
        return refused(&format!("`{text}` is {} rate", if rate { "no" } else { "a" }));
    }
    let base = match quantity {
        "auto" if dimension == Dimension::Bytes => Some(1024.0),
        "auto" | "auto1000" => Some(1000.0),
        "auto1024" => Some(1024.0),
        _ => None,
    };
    if let Some(base) = base {
        if !matches!(dimension, Dimension::Bytes | Dimension::Plain) {
            return refused("`auto` is for bytes and plain numbers");
        }
        return Ok(Conversion { factor: 1.0 / (own * divisor), per, prefixed: Some(base) });
    }
    let known = match quantity {
        "" => Some((dimension, if unit == Unit::MegabitsPerS { own } else { 1.0 })),
        name => UNITS.iter().find(|(known, _, _)| *known == name).map(|(_, of, factor)| (*of, *factor)),
    };
    match known {
        Some((of, factor)) if of == dimension => {
            Ok(Conversion { factor: factor / (own * divisor), per, prefixed: None })
        }
        Some(_) => refused(&format!("`{text}` measures something else")),
        None => refused(&format!("`{text}` is no unit{}", perhaps(quantity, UNITS.iter().map(|(name, _, _)| *name)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_those_of_the_columns_unit() {
        for (text, unit, factor, per) in [
            ("", Unit::Bytes, 1.0, Per::Value),
            ("KiB", Unit::Bytes, 1024.0, Per::Value),
            ("kB/s", Unit::BytesPerS, 1000.0, Per::Value),
            ("MiB/min", Unit::BytesPerS, 1_048_576.0 / 60.0, Per::Value),
            ("Mbit/s", Unit::BytesPerS, 125_000.0, Per::Value),
            ("Gbit/s", Unit::MegabitsPerS, 1000.0, Per::Value),
            ("/s", Unit::MegabitsPerS, 1.0, Per::Value),
            ("/interval", Unit::PerS, 1.0, Per::Interval),
            ("k/s", Unit::PerS, 1000.0, Per::Value),
            ("/min", Unit::PerS, 1.0 / 60.0, Per::Value),
            ("sectors total", Unit::BytesPerS, 512.0, Per::Total),
            ("total", Unit::PerS, 1.0, Per::Total),
            ("us", Unit::Milliseconds, 1e-3, Per::Value),
            ("s", Unit::Milliseconds, 1e3, Per::Value),
            ("ns", Unit::Microseconds, 1e-3, Per::Value),
            ("min", Unit::Seconds, 60.0, Per::Value),
            ("ratio", Unit::Percent, 100.0, Per::Value),
            ("%", Unit::Percent, 1.0, Per::Value),
            ("GHz", Unit::Hertz, 1e9, Per::Value),
            ("ms/s", Unit::CpuSecondsPerS, 1e-3, Per::Value),
        ] {
            let read = conversion(text, unit).unwrap();
            assert!((read.factor / factor - 1.0).abs() < 1e-12, "{text} {unit:?}: {read:?}");
            assert_eq!(read.per, per, "{text} {unit:?}");
        }
        assert_eq!(conversion("auto", Unit::Bytes).unwrap().prefixed, Some(1024.0));
    }

    #[test]
    fn a_metric_takes_any_unit_and_holds_its_base() {
        for (text, factor, per) in [
            ("", 1.0, Per::Value),
            ("MiB", 1_048_576.0, Per::Value),
            ("kB/s", 1000.0, Per::Value),
            ("ms", 1e-3, Per::Value),
            ("ratio", 100.0, Per::Value),
            ("total", 1.0, Per::Total),
            ("KiB total", 1024.0, Per::Total),
            ("/interval", 1.0, Per::Interval),
            ("MHz", 1e6, Per::Value),
        ] {
            let read = free_conversion(text).unwrap();
            assert!((read.factor / factor - 1.0).abs() < 1e-12 && read.per == per, "{text}: {read:?}");
        }
        assert!(free_conversion("apples").unwrap_err().contains("is no unit"));
    }

    #[test]
    fn a_unit_of_something_else_is_refused_with_those_that_are_taken() {
        let why = |text, unit| conversion(text, unit).unwrap_err();
        assert!(
            why("ms", Unit::Bytes)
                .starts_with("`ms` measures something else; the column is in B: expected one of B, kB")
        );
        assert!(why("KB", Unit::Bytes).contains("is no unit; did you mean `kB`"), "{}", why("KB", Unit::Bytes));
        assert!(why("kB", Unit::BytesPerS).contains("is no rate; the column is in B/s"));
        assert!(why("B/s", Unit::Bytes).starts_with("`B/s` is a rate; the column is in B"));
        assert!(why("B/day", Unit::BytesPerS).starts_with("`/day` is no rate"));
        assert!(why("auto", Unit::Seconds).starts_with("`auto` is for bytes"));
        assert!(why("total", Unit::Count).starts_with("`total` is a rate; the column is in plain numbers"));
    }
}
