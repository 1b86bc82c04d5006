//! Numbers as servers print them: whole ones of any size in which counters come, and others.

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number: a counter of bytes can have more digits than a float holds.
    Whole(i128),
    /// Any other.
    Real(f64),
}

impl Number {
    /// Reads a number; None for what is none, and for NaN and infinities.
    pub fn read(text: &str) -> Option<Number> {
        let text = text.trim();
        if let Ok(whole) = text.parse() {
            return Some(Number::Whole(whole));
        }
        text.parse().ok().filter(|real: &f64| real.is_finite()).map(Number::Real)
    }

    /// As a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Real(real) => real,
        }
    }

    /// How far a counter went from `last` to here; None when it went back.
    pub fn since(self, last: Number) -> Option<f64> {
        let grown = match (self, last) {
            (Number::Whole(now), Number::Whole(last)) => now.checked_sub(last)? as f64,
            _ => self.as_f64() - last.as_f64(),
        };
        (grown >= 0.0).then_some(grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_many_digits_are_subtracted_exactly() {
        let read = |text| Number::read(text).unwrap();
        assert_eq!(read("123456789012345678901").since(read("123456789012345678900")), Some(1.0));
        assert_eq!(read("2.5").since(read("1")), Some(1.5));
        assert_eq!(read("1").since(read("2")), None);
        assert_eq!((Number::read("x"), Number::read("NaN"), Number::read("")), (None, None, None));
    }
}
