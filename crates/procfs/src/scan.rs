//! Reading numbers and words out of /proc text without allocating.

/// The words of a line: runs of bytes between blanks and tabs.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| *b == b' ' || *b == b'\t').filter(|w| !w.is_empty())
}

/// The lines of a text, without their ends; empty ones are left out.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = &rest[(end + 1).min(rest.len())..];
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    })
}

/// A hexadecimal number, with or without `0x` before it.
pub fn hex(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word.strip_prefix(b"0x").unwrap_or(word)).ok()?, 16).ok()
}

/// An unsigned decimal number; None when it is anything else or does not fit.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |n, b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 { None } else { n.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// The next number of a line and what follows it; None when the next word is no number.
///
/// Faster than [`words`] and [`number`] for long rows of numbers.
pub fn next_number(line: &[u8]) -> Option<(u64, &[u8])> {
    let begin = line.iter().position(|b| *b != b' ' && *b != b'\t')?;
    let word = &line[begin..];
    let end = word.iter().position(|b| *b == b' ' || *b == b'\t').unwrap_or(word.len());
    Some((number(&word[..end])?, &word[end..]))
}

/// A decimal number such as a load average; None when it is anything else.
pub fn decimal(word: &[u8]) -> Option<f64> {
    std::str::from_utf8(word).ok()?.parse().ok().filter(|v: &f64| v.is_finite())
}

/// The word as text, with anything that is not UTF-8 replaced.
pub fn text(word: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(word)
}

#[cfg(test)]
mod tests {
    use super::{decimal, lines, next_number, number, words};

    #[test]
    fn lines_and_words_leave_out_what_is_empty() {
        assert_eq!(lines(b"a b\n\nc\n").collect::<Vec<_>>(), [&b"a b"[..], b"c"]);
        assert_eq!(lines(b"no end").collect::<Vec<_>>(), [b"no end"]);
        assert_eq!(words(b"  a \t b ").collect::<Vec<_>>(), [b"a", b"b"]);
    }

    #[test]
    fn what_is_not_a_number_is_none() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!((number(b""), number(b"-1"), number(b"1a")), (None, None, None));
        assert_eq!(next_number(b"  12 IO-APIC"), Some((12, &b" IO-APIC"[..])));
        assert_eq!((next_number(b" 5-edge"), next_number(b"  ")), (None, None));
        assert_eq!((decimal(b"1.25"), decimal(b"inf"), decimal(b"x")), (Some(1.25), None, None));
    }
}
