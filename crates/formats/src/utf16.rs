//! UTF-16 as UTF-8: what PowerShell and other tools of Windows write.

use std::io::{self, Read};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// The byte order of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// The order of a byte order mark; None where `head` does not begin with one of UTF-16.
pub(crate) fn order(head: &[u8]) -> Option<Order> {
    match head {
        // That of UTF-32, which no tool prints, begins in the same way.
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xff, 0xfe, ..] => Some(Order::Little),
        [0xfe, 0xff, ..] => Some(Order::Big),
        _ => None,
    }
}

/// Reads UTF-16 as UTF-8; half a character is replaced by U+FFFD.
pub(crate) struct Utf16<R> {
    reader: R,
    order: Order,
    /// Bytes that are not decoded yet: half a unit, or half a pair.
    rest: Vec<u8>,
    text: String,
    at: usize,
    at_end: bool,
}

impl<R: Read> Utf16<R> {
    pub(crate) fn new(reader: R, order: Order) -> Utf16<R> {
        Utf16 { reader, order, rest: Vec::new(), text: String::new(), at: 0, at_end: false }
    }

    /// Decodes the next bytes.
    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.rest);
        let begin = bytes.len();
        bytes.resize(begin + CHUNK, 0);
        let n = match self.reader.read(&mut bytes[begin..]) {
            Ok(n) => n,
            Err(error) => {
                bytes.truncate(begin);
                self.rest = bytes;
                return Err(error);
            }
        };
        bytes.truncate(begin + n);
        self.at_end = n == 0;
        let unit = |pair: &[u8]| match self.order {
            Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
            Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
        };
        let mut whole = bytes.len() / 2 * 2;
        // The second half of a pair may not be there yet.
        if !self.at_end && whole > 0 && (0xd800..0xdc00).contains(&unit(&bytes[whole - 2..])) {
            whole -= 2;
        }
        self.text.clear();
        self.at = 0;
        let units = bytes[..whole].chunks_exact(2).map(unit);
        self.text.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        if self.at_end && whole < bytes.len() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        } else {
            self.rest = bytes.split_off(whole);
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() && !self.at_end {
            self.fill()?;
        }
        let left = &self.text.as_bytes()[self.at..];
        let n = left.len().min(into.len());
        into[..n].copy_from_slice(&left[..n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte more at each read than at the one before.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 = self.1 % 7 + 1;
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn decoded(bytes: &[u8], order: Order) -> String {
        let mut text = String::new();
        Utf16::new(Slow(bytes, 0), order).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn both_orders_are_read_whatever_the_pieces() {
        let text = "usr %\r\n12,5 µs 𝄞 ende\n".repeat(50);
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|u| u.to_be_bytes()).collect();
        assert_eq!(decoded(&little, Order::Little), text);
        assert_eq!(decoded(&big, Order::Big), text);
    }

    #[test]
    fn halves_are_replaced() {
        assert_eq!(decoded(b"a\0\x00\xd8b\0", Order::Little), "a\u{fffd}b");
        assert_eq!(decoded(b"a\0b", Order::Little), "a\u{fffd}");
        assert_eq!(decoded(b"a\0\x00\xd8", Order::Little), "a\u{fffd}");
    }

    #[test]
    fn a_mark_tells_the_order() {
        assert_eq!(order(b"\xff\xfea\0"), Some(Order::Little));
        assert_eq!(order(b"\xfe\xff\0a"), Some(Order::Big));
        assert_eq!((order(b"\xff\xfe\0\0"), order(b"\xef\xbb\xbfa"), order(b"\xff")), (None, None, None));
    }
}
