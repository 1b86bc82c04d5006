//! Decoding of BPF map values: C structs of numbers and texts, field by field.

/// The rest of a value. Fields are taken in their order; what is beyond the end is 0 or empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        head
    }

    /// The next `u32`.
    pub(crate) fn u32(&mut self) -> u32 {
        self.take(4).try_into().map_or(0, u32::from_ne_bytes)
    }

    /// The next `u64`.
    pub(crate) fn u64(&mut self) -> u64 {
        self.take(8).try_into().map_or(0, u64::from_ne_bytes)
    }

    /// The next `char[n]`, up to its NUL.
    pub(crate) fn text(&mut self, n: usize) -> String {
        let bytes = self.take(n);
        let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_in_their_order() {
        let mut value = 7u64.to_ne_bytes().to_vec();
        value.extend(9u32.to_ne_bytes());
        value.extend(b"bash\0rubbish");
        let mut at = Bytes(&value);
        assert_eq!((at.u64(), at.u32(), at.text(12)), (7, 9, "bash".to_owned()));
        assert_eq!((at.u64(), at.text(4)), (0, String::new()));
    }
}
