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

    /// The number less our own amount: `own` now, `own_before` before. A counter that would only go back because more
    /// of our own is known than the server has reported does not change: the next reading makes up for it.
    pub fn without(self, (own, own_before): (f64, f64), last: Option<Number>) -> Number {
        let less = match self {
            Number::Whole(whole) => Number::Whole(whole.saturating_sub(own as i128)),
            Number::Real(real) => Number::Real(real - own),
        };
        match last {
            Some(last) if less.since(last).is_none() && last.as_f64() - less.as_f64() <= own - own_before => last,
            _ => less,
        }
    }

    /// As a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Real(real) => real,
        }
    }

    /// Growth of a counter since `last`; None when it went back.
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
    fn our_own_is_left_out_and_makes_no_counter_go_back() {
        let whole = |n| Number::Whole(n);
        assert_eq!(whole(100).without((0.0, 0.0), None), whole(100));
        assert_eq!(whole(140).without((40.0, 0.0), Some(whole(100))), whole(100));
        // Ten of ours are known that the server has not reported yet.
        assert_eq!(whole(145).without((50.0, 40.0), Some(whole(100))), whole(100));
        assert_eq!(whole(155).without((50.0, 50.0), Some(whole(100))), whole(105));
        // It was reset: more is gone than ours can be.
        assert_eq!(whole(3).without((50.0, 50.0), Some(whole(100))), whole(-47));
        assert_eq!(Number::Real(9.0).without((2.5, 0.0), None), Number::Real(6.5));
    }

    #[test]
    fn counters_of_many_digits_are_subtracted_exactly() {
        let read = |text| Number::read(text).unwrap();
        assert_eq!(read("123456789012345678901").since(read("123456789012345678900")), Some(1.0));
        assert_eq!(read("2.5").since(read("1")), Some(1.5));
        assert_eq!(read("1").since(read("2")), None);
        assert_eq!((Number::read("x"), Number::read("NaN"), Number::read("")), (None, None, None));
    }
}
