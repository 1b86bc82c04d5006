//! JSON that anybody may have written, held in memory within bounds.
//!
//! A few bytes of JSON can be a hundred of memory, and a packed file is thousands of times smaller than what it unpacks to.
//! So values are counted as they are read, and texts are measured before they are put together.

use std::{
    fmt,
    io::{self, Read},
};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Values of one piece of a document that is held in memory.
pub(crate) const MOST_VALUES: usize = 1 << 20;
/// Bytes of one text in a document that is read piece by piece.
const MOST_TEXT: usize = 1 << 20;

/// The object in `text`; None when there is none or it holds more than [`MOST_VALUES`].
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let Value::Object(object) = Bounded::new(&mut { MOST_VALUES }).deserialize(&mut reader).ok()? else { return None };
    reader.end().ok().map(|()| object)
}

/// Reads a value of which no more than `left` parts are held.
pub(crate) struct Bounded<'a> {
    left: &'a mut usize,
}

impl<'a> Bounded<'a> {
    pub(crate) fn new(left: &'a mut usize) -> Bounded<'a> {
        Bounded { left }
    }

    fn one<E: Error>(&mut self) -> Result<(), E> {
        *self.left = self.left.checked_sub(1).ok_or_else(|| E::custom("it has too many parts"))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(mut self, from: D) -> Result<Value, D::Error> {
        self.one()?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Bounded { left: &mut *self.left })? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            values.insert(key, map.next_value_seed(Bounded { left: &mut *self.left })?);
        }
        Ok(Value::Object(values))
    }
}

/// A reader of JSON that fails where a text is longer than anything that has a meaning.
pub(crate) struct Measured<R> {
    inner: R,
    within: bool,
    escaped: bool,
    length: usize,
}

impl<R> Measured<R> {
    pub(crate) fn new(inner: R) -> Measured<R> {
        Measured { inner, within: false, escaped: false, length: 0 }
    }

    fn is_too_long(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.length = if self.within { self.length + 1 } else { 0 };
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.within,
                b'"' => self.within = !self.within,
                _ => {}
            }
            if self.length > MOST_TEXT {
                return true;
            }
        }
        false
    }
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        if self.is_too_long(&into[..n]) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a text has more than {MOST_TEXT} bytes")));
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_object_is_the_one_that_serde_reads() {
        let text = r#"{"a": [1, -2, 0.5, null, true, "x\n"], "b": {"c": {}}, "b": 3}"#;
        assert_eq!(object(text), serde_json::from_str(text).ok());
        for wrong in ["", "[]", "1", "{", "{} x", "{\"a\":}"] {
            assert_eq!(object(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_object_of_too_many_parts_is_none() {
        let list = |n: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(n - 1));
        // The object and the list are parts too.
        assert!(object(&list(MOST_VALUES - 2)).is_some());
        assert!(object(&list(MOST_VALUES - 1)).is_none());
    }

    #[test]
    fn a_text_without_an_end_is_not_read_to_its_end() {
        let read = |text: &str| {
            let mut reader = Measured::new(text.as_bytes());
            io::copy(&mut reader, &mut io::sink()).is_ok()
        };
        assert!(read(&format!("\"{}\"", "x".repeat(MOST_TEXT - 1))));
        assert!(!read(&format!("\"{}", "x".repeat(MOST_TEXT + 1))));
        assert!(!read(&format!("\"\\\"{}", "x".repeat(MOST_TEXT))));
        assert!(read(&"1,".repeat(MOST_TEXT)), "what is no text has no length");
    }
}
