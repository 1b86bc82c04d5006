//! Expression language of workloads, for numbers and texts: `draw(1, table_size)`, `id + range - 1`,
//! `pattern("##-@@")`.
//!
//! Numbers are whole. Options are put in as constants when a workload is compiled; names that `let` or `:=` give are
//! slots of a transaction. Evaluation allocates nothing and cannot fail: overflow wraps, division by zero gives 0.

use crate::random::{Distribution, Random};

/// Variables with which an expression is evaluated.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Values of the names of a transaction.
    pub slots: &'a mut [i64],
    /// The transaction's own generator.
    pub random: &'a mut Random,
    /// The transaction's number.
    pub turn: u64,
}

/// Operator on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, never negative for a positive divisor.
    Remainder,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `>`
    Greater,
}

/// A whole number to be computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Itself.
    Number(i64),
    /// The value of a name.
    Slot(usize),
    /// Gives a name a value, and is that value.
    Assign(usize, Box<Expr>),
    /// Two numbers.
    Both(Operator, Box<Expr>, Box<Expr>),
    /// A random number of a range.
    Draw(Distribution, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// The number.
    pub fn value(&self, frame: &mut Frame<'_>) -> i64 {
        match self {
            Expr::Number(number) => *number,
            Expr::Slot(slot) => frame.slots.get(*slot).copied().unwrap_or(0),
            Expr::Assign(slot, value) => {
                let value = value.value(frame);
                if let Some(place) = frame.slots.get_mut(*slot) {
                    *place = value;
                }
                value
            }
            Expr::Both(operator, left, right) => {
                let left = left.value(frame);
                apply(*operator, left, right.value(frame))
            }
            Expr::Draw(distribution, low, high) => {
                let low = low.value(frame);
                let high = high.value(frame);
                distribution.draw(frame.random, low, high, frame.turn)
            }
        }
    }

    /// The number, when it is the same for all transactions.
    pub fn constant(&self) -> Option<i64> {
        match self {
            Expr::Number(number) => Some(*number),
            Expr::Both(operator, left, right) => Some(apply(*operator, left.constant()?, right.constant()?)),
            _ => None,
        }
    }
}

fn apply(operator: Operator, left: i64, right: i64) -> i64 {
    match operator {
        Operator::Add => left.wrapping_add(right),
        Operator::Subtract => left.wrapping_sub(right),
        Operator::Multiply => left.wrapping_mul(right),
        Operator::Divide => left.checked_div(right).unwrap_or(0),
        Operator::Remainder => left.checked_rem_euclid(right).unwrap_or(0),
        Operator::Equal => (left == right).into(),
        Operator::Unequal => (left != right).into(),
        Operator::Less => (left < right).into(),
        Operator::Greater => (left > right).into(),
    }
}

/// Text to be made up.
#[derive(Clone, Debug, PartialEq)]
pub enum Text {
    /// Each `#` becomes a digit, each `@` a lower-case letter.
    Pattern(Box<[u8]>),
    /// That many lower-case letters.
    Letters(Expr),
    /// Always the same.
    Fixed(Box<[u8]>),
}

impl Text {
    /// Returns true if it has no byte outside ASCII, whatever is drawn.
    pub fn is_ascii(&self) -> bool {
        match self {
            Text::Pattern(text) | Text::Fixed(text) => text.is_ascii(),
            Text::Letters(_) => true,
        }
    }

    /// Adds the text to `out`.
    pub fn write(&self, frame: &mut Frame<'_>, out: &mut Vec<u8>) {
        match self {
            Text::Fixed(text) => out.extend_from_slice(text),
            Text::Letters(count) => {
                let count = usize::try_from(count.value(frame)).unwrap_or(0);
                write(std::iter::repeat_n(b'@', count), frame.random, out);
            }
            Text::Pattern(pattern) => write(pattern.iter().copied(), frame.random, out),
        }
    }
}

/// Fills a pattern in. One random number serves for twelve places.
fn write(pattern: impl Iterator<Item = u8>, random: &mut Random, out: &mut Vec<u8>) {
    let (mut bits, mut left) = (0_u64, 0);
    out.reserve(pattern.size_hint().0);
    for byte in pattern {
        if !matches!(byte, b'#' | b'@') {
            out.push(byte);
            continue;
        }
        if left == 0 {
            (bits, left) = (random.bits(), 12);
        }
        left -= 1;
        // Divisors that the compiler knows make these multiplications: half of the time of making a row.
        let (first, drawn, rest) =
            if byte == b'#' { (b'0', bits % 10, bits / 10) } else { (b'a', bits % 26, bits / 26) };
        out.push(first + drawn as u8);
        bits = rest;
    }
}

/// A value of a statement or a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A number.
    Number(Expr),
    /// A text.
    Text(Text),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_keep_their_shape_and_texts_their_length() {
        let mut slots = [];
        let mut random = Random::new(1, 1);
        let mut frame = Frame { slots: &mut slots, random: &mut random, turn: 0 };
        let mut out = Vec::new();
        Text::Pattern((*b"###-@@@x").into()).write(&mut frame, &mut out);
        assert!(out[..3].iter().all(u8::is_ascii_digit) && out[3] == b'-' && out[7] == b'x', "{out:?}");
        assert!(out[4..7].iter().all(u8::is_ascii_lowercase));
        out.clear();
        Text::Letters(Expr::Number(1000)).write(&mut frame, &mut out);
        assert_eq!(out.iter().filter(|b| b.is_ascii_lowercase()).count(), 1000);
    }

    #[test]
    fn arithmetic_wraps_and_never_stops() {
        for (operator, left, right, expected) in [
            (Operator::Divide, 7, 0, 0),
            (Operator::Remainder, -7, 4, 1),
            (Operator::Remainder, 7, 0, 0),
            (Operator::Divide, i64::MIN, -1, 0),
            (Operator::Add, i64::MAX, 1, i64::MIN),
            (Operator::Less, 1, 2, 1),
        ] {
            assert_eq!(apply(operator, left, right), expected);
        }
    }
}
