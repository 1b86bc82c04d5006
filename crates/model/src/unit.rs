//! Units of columns, and how a value in a unit is shown to a person.

use std::fmt;

/// Unit of a column's values. Base units only: bytes and seconds, never KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A plain number or a text.
    None,
    /// Percent of the thing named (one CPU, one device, one host).
    Percent,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerS,
    /// Events per second; the column's name says which event.
    PerS,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// A number of things.
    Count,
    /// Megabits per second, decimal (link speeds).
    MegabitsPerS,
    /// Hertz.
    Hertz,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// CPU seconds used per second of elapsed time.
    CpuSecondsPerS,
    /// Seconds spent by several per second of elapsed time: the mean number of sessions in a state.
    SecondsPerS,
}

impl Unit {
    /// The unit as it is written in headers and in Parquet metadata; empty for a plain number.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::None | Unit::Count => "",
            Unit::Percent => "%",
            Unit::Bytes => "B",
            Unit::BytesPerS => "B/s",
            Unit::PerS => "/s",
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "us",
            Unit::MegabitsPerS => "Mbit/s",
            Unit::Hertz => "Hz",
            Unit::Watts => "W",
            Unit::Celsius => "°C",
            Unit::CpuSecondsPerS => "CPU",
            Unit::SecondsPerS => "s/s",
        }
    }

    /// The unit whose symbol is `symbol`, `Unit::None` when there is no such unit.
    pub fn from_symbol(symbol: &str) -> Unit {
        const ALL: [Unit; 13] = [
            Unit::Percent,
            Unit::Bytes,
            Unit::BytesPerS,
            Unit::PerS,
            Unit::Seconds,
            Unit::Milliseconds,
            Unit::Microseconds,
            Unit::MegabitsPerS,
            Unit::Hertz,
            Unit::Watts,
            Unit::Celsius,
            Unit::CpuSecondsPerS,
            Unit::SecondsPerS,
        ];
        ALL.into_iter().find(|u| u.symbol() == symbol).unwrap_or(Unit::None)
    }

    /// Shows `value` for a person: scaled, three or four significant digits, unit at the end.
    ///
    /// Bytes scale by 1024 (KiB, MiB); everything else by 1000 (k, M, G).
    pub fn human(self, value: f64) -> Human {
        Human { unit: self, value }
    }
}

/// A value with its unit, displayed scaled; made by [`Unit::human`].
#[derive(Clone, Copy, Debug)]
pub struct Human {
    unit: Unit,
    value: f64,
}

impl fmt::Display for Human {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        if !value.is_finite() {
            return f.write_str("-");
        }
        match self.unit {
            Unit::Bytes | Unit::BytesPerS => {
                let (scaled, prefix) = scale(value, 1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi"]);
                write!(f, "{} {prefix}{}", digits(scaled), self.unit.symbol())
            }
            Unit::Percent => write!(f, "{}%", digits(value)),
            Unit::Seconds => write!(f, "{}", duration(value)),
            Unit::Milliseconds => write!(f, "{}", duration(value / 1e3)),
            Unit::Microseconds => write!(f, "{}", duration(value / 1e6)),
            Unit::MegabitsPerS => {
                let (scaled, prefix) = scale(value * 1e6, 1000.0, &["", "k", "M", "G", "T"]);
                write!(f, "{} {prefix}bit/s", digits(scaled))
            }
            // Of things there are 4, not 4.00; without the sign that zero can have.
            Unit::None | Unit::Count if value.fract() == 0.0 && value.abs() < 1000.0 => write!(f, "{}", value + 0.0),
            Unit::Celsius if value.fract() == 0.0 && value.abs() < 1000.0 => write!(f, "{} °C", value + 0.0),
            Unit::None
            | Unit::Count
            | Unit::PerS
            | Unit::Hertz
            | Unit::Watts
            | Unit::Celsius
            | Unit::CpuSecondsPerS
            | Unit::SecondsPerS => {
                let (scaled, prefix) = scale(value, 1000.0, &["", "k", "M", "G", "T", "P"]);
                let symbol = self.unit.symbol();
                let gap = if symbol.is_empty() || (prefix.is_empty() && symbol == "/s") { "" } else { " " };
                let gap = if prefix.is_empty() { gap } else { " " };
                write!(f, "{}{gap}{prefix}{symbol}", digits(scaled))
            }
        }
    }
}

fn scale(value: f64, base: f64, prefixes: &[&'static str]) -> (f64, &'static str) {
    let mut scaled = value;
    let mut step = 0;
    // 0.9995 of the next step already prints as that step, so move up there.
    while scaled.abs() >= base * 0.9995 && step + 1 < prefixes.len() {
        scaled /= base;
        step += 1;
    }
    (scaled, prefixes[step])
}

fn digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        "0".to_owned()
    } else if magnitude < 0.001 {
        format!("{value:.1e}")
    } else if magnitude < 0.1 {
        format!("{value:.4}")
    } else if magnitude < 10.0 {
        format!("{value:.2}")
    } else if magnitude < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn duration(seconds: f64) -> String {
    let magnitude = seconds.abs();
    // 0.9995 of the next unit already prints as 1000 of this one.
    if magnitude == 0.0 {
        "0 s".to_owned()
    } else if magnitude < 0.9995e-6 {
        format!("{} ns", digits(seconds * 1e9))
    } else if magnitude < 0.9995e-3 {
        format!("{} µs", digits(seconds * 1e6))
    } else if magnitude < 0.9995 {
        format!("{} ms", digits(seconds * 1e3))
    } else if magnitude < 120.0 {
        format!("{} s", digits(seconds))
    } else if magnitude < 7200.0 {
        format!("{}m{:02}s", (seconds / 60.0) as i64, (seconds % 60.0) as i64)
    } else {
        format!("{}h{:02}m", (seconds / 3600.0) as i64, ((seconds % 3600.0) / 60.0) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    fn check(unit: Unit, value: f64, want: &str) {
        assert_eq!(unit.human(value).to_string(), want);
    }

    #[test]
    fn values_are_scaled_and_carry_their_unit() {
        check(Unit::Bytes, 0.0, "0 B");
        check(Unit::Bytes, 1536.0, "1.50 KiB");
        check(Unit::BytesPerS, 3.0 * 1024.0 * 1024.0, "3.00 MiB/s");
        check(Unit::Bytes, 1023.99, "1.00 KiB");
        check(Unit::PerS, 12.0, "12.0/s");
        check(Unit::PerS, 12_345.0, "12.3 k/s");
        check(Unit::Percent, 99.95, "100.0%");
        check(Unit::Milliseconds, 0.25, "250 µs");
        check(Unit::Seconds, 3700.0, "61m40s");
        check(Unit::MegabitsPerS, 10_000.0, "10.0 Gbit/s");
        check(Unit::Count, 1234.0, "1.23 k");
        check(Unit::Count, 4.0, "4");
        check(Unit::Count, -0.0, "0");
        check(Unit::None, f64::NAN, "-");
    }

    /// The page's own rules (web/src/units.ts) are held to the same table. Pages differ in one thing: what is missing is `–` there.
    #[test]
    fn a_value_reads_the_same_as_on_a_page() {
        let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("../tests/units.json")).unwrap();
        assert!(cases.len() > 50);
        for case in cases {
            let (unit, value) = (case["unit"].as_str().unwrap(), case["value"].as_f64().unwrap_or(f64::NAN));
            let want = case["text"].as_str().unwrap().replace('–', "-");
            check(Unit::from_symbol(unit), value, &want);
        }
    }

    #[test]
    fn a_symbol_names_its_unit() {
        assert_eq!(Unit::from_symbol("B/s"), Unit::BytesPerS);
        assert_eq!(Unit::from_symbol("furlong"), Unit::None);
    }
}
