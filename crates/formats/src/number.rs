//! Numbers as tools print them.

const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Reads a decimal number: `12`, `-0.5`, `.25`, `1e3`; a single comma is a decimal comma.
///
/// None for anything else, also for infinities and NaN. The result is the nearest double.
#[inline]
pub fn number(text: &str) -> Option<f64> {
    short(text.as_bytes()).or_else(|| long(text))
}

/// Eight times the same byte.
const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Reads up to eight characters at once, without a loop whose length changes from cell to cell: digits, and at most one point
/// among them. None for anything else.
#[inline]
fn short(bytes: &[u8]) -> Option<f64> {
    let word = word_of(bytes)?;
    let length = bytes.len() as u32;
    // The lowest byte that is a point; bytes beyond the last are 0 and none.
    let points = word ^ each(b'.');
    let found = points.wrapping_sub(each(1)) & !points & each(0x80);
    let (digits, n, decimals) = match found {
        0 => (word, length, 0),
        found => {
            let at = found.trailing_zeros() & !7;
            let below = word & ((1 << at) - 1);
            (below | ((word >> at >> 8) << at), length - 1, length - 1 - at / 8)
        }
    };
    if n == 0 {
        return None;
    }
    // As many zeros before them as make eight digits of it.
    let zeros = 64 - 8 * n;
    let digits = (digits << zeros | each(b'0') & ((1 << zeros) - 1)) ^ each(b'0');
    if (digits.wrapping_add(each(0x76)) | digits) & each(0x80) != 0 {
        return None;
    }
    // Pairs of digits, then pairs of these, then both halves.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let mantissa = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    Some(mantissa as f64 / TENS[decimals as usize])
}

/// One to eight bytes, the first lowest.
#[inline]
fn word_of(bytes: &[u8]) -> Option<u64> {
    let four = |bytes: Option<&[u8; 4]>| Some(u64::from(u32::from_le_bytes(*bytes?)));
    match bytes.len() {
        // Bytes that are in both halves are the same in both.
        length @ 4..=8 => Some(four(bytes.first_chunk())? | four(bytes.last_chunk())? << (8 * (length - 4))),
        length @ 1..=3 => {
            let at = |place: usize| u64::from(bytes[place]) << (8 * place);
            Some(at(0) | at(length / 2) | at(length - 1))
        }
        _ => None,
    }
}

fn long(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let (negative, digits) = match bytes.first()? {
        b'-' => (true, &bytes[1..]),
        _ => (false, bytes),
    };
    // Up to 15 digits with at most 15 decimals are exact as mantissa and as power of ten, so one
    // division rounds once, correctly.
    if digits.len() > 16 {
        return slow(text);
    }
    let (mut mantissa, mut at) = (0u64, 0);
    while let Some(digit) = digit_at(digits, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let whole = at;
    if matches!(digits.get(at), Some(b'.' | b',')) {
        at += 1;
        while let Some(digit) = digit_at(digits, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
    }
    let decimals = at.saturating_sub(whole + 1);
    let n = whole + decimals;
    if at != digits.len() || n == 0 || n > 15 {
        return slow(text);
    }
    let value = mantissa as f64 / TENS[decimals];
    Some(if negative { -value } else { value })
}

#[inline]
fn digit_at(digits: &[u8], at: usize) -> Option<u64> {
    digits.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9).map(u64::from)
}

#[cold]
fn slow(text: &str) -> Option<f64> {
    if !text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'-' | b'+' | b'e' | b'E')) {
        return None;
    }
    let value = match text.matches(',').count() {
        0 => text.parse::<f64>().ok()?,
        1 if !text.contains('.') => text.replace(',', ".").parse::<f64>().ok()?,
        _ => return None,
    };
    value.is_finite().then_some(value)
}

/// Reads a number with thousands separators: `1,234,567.8`, `1'234`, `1 234` (no-break spaces too).
pub fn grouped(text: &str) -> Option<f64> {
    let bare: String = text.chars().filter(|c| !matches!(c, ',' | '\'' | '_' | ' ' | '\u{a0}' | '\u{202f}')).collect();
    if bare.contains(',') { None } else { number(&bare) }
}

/// Reads a number with a factor behind it: `12k`, `1.5M`, `3GiB`, `7K`. Gives the plain number.
///
/// `base` is the value of `k`, 1000 or 1024; with an `i` (`Ki`, `MiB`) it is always 1024. A
/// trailing `B` or `b` is skipped.
pub fn scaled(text: &str, base: f64) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let value = number(digits.trim())?;
    let suffix = suffix.trim_end_matches(['B', 'b']);
    let (letter, base) = match suffix.strip_suffix('i') {
        Some(letter) => (letter, 1024.0),
        None => (suffix, base),
    };
    let power = match letter {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        _ => return None,
    };
    Some(value * base.powi(power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_as_tools_print_them() {
        let cases = [("12", 12.0), ("-0.50", -0.5), (".25", 0.25), ("3,75", 3.75), ("1e3", 1000.0), ("+4", 4.0)];
        for (text, value) in cases {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "1,2,3", "nan", "inf", "12x", "--1", "1e999", "0x10"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number("123456789012345678901"), Some(123_456_789_012_345_678_901.0));
    }

    #[test]
    fn groups_and_factors_are_read() {
        assert_eq!(grouped("1,234,567.5"), Some(1_234_567.5));
        assert_eq!(scaled("1.5M", 1000.0), Some(1.5e6));
        assert_eq!(scaled("2K", 1024.0), Some(2048.0));
        assert_eq!(scaled("3 GiB", 1000.0), Some(3.0 * 1024.0 * 1024.0 * 1024.0));
        assert_eq!(scaled("7", 1024.0), Some(7.0));
        assert_eq!(scaled("x", 1024.0), None);
    }

    proptest! {
        #[test]
        fn the_quick_way_gives_the_nearest_double(text in "-?[0-9]{1,14}(\\.[0-9]{0,8})?") {
            prop_assert_eq!(number(&text), text.parse::<f64>().ok());
        }

        #[test]
        fn short_numbers_are_read_as_long_ones(text in "[0-9.]{1,8}", other in "[ -~é]{0,9}") {
            prop_assert_eq!(number(&text), long(&text));
            prop_assert_eq!(number(&other), long(&other));
        }

        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = (number(&text), grouped(&text), scaled(&text, 1024.0));
        }
    }
}
