//! Protocol Buffers as far as this protocol needs them: varints and length-delimited fields.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Its bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Adds a number or a truth value.
    #[must_use]
    pub(crate) fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// Adds bytes or text; an empty one too, since some fields tell by being there.
    #[must_use]
    pub(crate) fn bytes(mut self, field: u32, value: &[u8]) -> Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// Adds a text.
    #[must_use]
    pub(crate) fn text(self, field: u32, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    /// Adds a message.
    #[must_use]
    pub(crate) fn message(self, field: u32, value: Message) -> Message {
        self.bytes(field, &value.0)
    }

    /// Adds an entry of a map of texts.
    #[must_use]
    pub(crate) fn entry(self, field: u32, key: &str, value: &str) -> Message {
        self.message(field, Message::default().text(1, key).text(2, value))
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// The value of a field that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number.
    Number(u64),
    /// Bytes, text or a message.
    Bytes(&'a [u8]),
    /// A number of fixed width, which none of our fields has.
    Fixed,
}

/// Reads a message field by field; what is none ends it with an error.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

/// Bytes that are no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Fields<'a> {
        Fields(bytes)
    }

    /// The last value of `field` that is bytes.
    pub(crate) fn bytes(self, field: u32) -> Result<Option<&'a [u8]>, Malformed> {
        let mut found = None;
        for next in self {
            if let (number, Value::Bytes(bytes)) = next?
                && number == field
            {
                found = Some(bytes);
            }
        }
        Ok(found)
    }

    /// The last value of `field` that is text.
    pub(crate) fn text(self, field: u32) -> Result<Option<String>, Malformed> {
        let bytes = self.bytes(field)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for place in 0..10 {
            let byte = *self.take(1)?.first().ok_or(Malformed)?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Malformed> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).map_err(|_| Malformed)?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(Malformed),
        };
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, Malformed, Message, Value};

    #[test]
    fn what_was_written_is_read() {
        let inner = Message::default().text(1, "é").number(2, u64::MAX);
        let bytes = Message::default().number(1, 300).message(15, inner).entry(3, "k", "").into_bytes();
        let fields: Vec<_> = Fields::of(&bytes).collect::<Result<_, _>>().unwrap();
        assert_eq!(fields[0], (1, Value::Number(300)));
        let (15, Value::Bytes(inner)) = fields[1] else { panic!("{fields:?}") };
        assert_eq!(Fields::of(inner).text(1).unwrap().unwrap(), "é");
        assert!(Fields::of(inner).any(|f| f == Ok((2, Value::Number(u64::MAX)))));
        assert_eq!(fields[2].0, 3);
    }

    #[test]
    fn fixed_numbers_are_passed_over_and_what_is_cut_is_an_error() {
        let bytes = [0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4, 0x0a, 1, b'x'];
        assert_eq!(Fields::of(&bytes).text(1).unwrap().unwrap(), "x");
        for end in [1, 5, 10, 12, 15, 16] {
            assert_eq!(Fields::of(&bytes[..end]).bytes(1), Err(Malformed), "{end}");
        }
        assert_eq!(
            Fields::of(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).bytes(1),
            Err(Malformed)
        );
        assert_eq!(Fields::of(&[0x0b]).bytes(1), Err(Malformed));
    }
}
