//! Lengths of time with a unit, as load generators print them.

use crate::number;

/// Milliseconds of `49.52ms`, `780us`, `2.01s`, `1.5 secs`, `1m2.5s`.
pub fn milliseconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut total = None;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-'))?;
        let value = number(rest.get(..unit_at)?)?;
        let after = rest.get(unit_at..)?.trim_start();
        let end = after.find(|c: char| c.is_ascii_digit() || c == ' ').unwrap_or(after.len());
        let scale = match after.get(..end)? {
            "ns" => 1e-6,
            "us" | "µs" | "μs" => 1e-3,
            "ms" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
            "m" | "min" => 6e4,
            "h" => 3.6e6,
            _ => return None,
        };
        total = Some(total.unwrap_or(0.0) + value * scale);
        rest = after.get(end..)?.trim_start();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_in_every_unit() {
        let cases =
            [("49.52ms", 49.52), ("780us", 0.78), ("1.13µs", 0.00113), ("2 secs", 2000.0), ("1m2.5s", 62_500.0)];
        for (text, ms) in cases {
            assert!((milliseconds(text).unwrap() - ms).abs() < 1e-9, "{text}");
        }
        assert_eq!((milliseconds("12"), milliseconds(""), milliseconds("NaN secs")), (None, None, None));
    }
}
