//! JSON with an embedded checksum, so that a flipped bit is an error and never another answer.
//!
//! The first member is `"digest"`: the BLAKE3 of the whole text with 64 zeros in its place. A text without one
//! is from before there were checksums; it is read, if it has no member that is unknown: a damaged name of a member
//! must not pass for one that was left out.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{Store, StoreError, locks::Keeps};

/// 64 zeros, the placeholder of a digest while it is computed.
pub(crate) const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Beginning of every text with a digest.
const BEGIN: &str = "{\n  \"digest\": \"";

/// Whether a text carries a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// It does, and it fits.
    Digest,
    /// It is from before there were any.
    Nothing,
}

/// The text of `value`, which must be a structure with members, with its digest.
pub(crate) fn text_of<T: Serialize>(value: &T, path: &Path) -> Result<Vec<u8>, StoreError> {
    let plain = serde_json::to_string_pretty(value).map_err(|e| StoreError::damaged(path, e))?;
    let rest = plain.strip_prefix('{').filter(|rest| rest.starts_with('\n'));
    let rest = rest.ok_or_else(|| StoreError::damaged(path, "what is to be kept has no members"))?;
    let text = |digest: &str| format!("{BEGIN}{digest}\",{rest}\n");
    let digest = blake3::hash(text(BLANK).as_bytes()).to_hex();
    Ok(text(&digest).into_bytes())
}

/// Reads what [`text_of`] wrote. `known` are the members that a text without a digest may have.
///
/// # Errors
/// When the digest does not fit, or it is no such text.
pub(crate) fn value_of<T: DeserializeOwned>(
    text: &[u8],
    path: &Path,
    known: &[&str],
) -> Result<(T, Carries), StoreError> {
    let carries = carries(text, known).map_err(|why| StoreError::damaged(path, why))?;
    let value = serde_json::from_slice(text).map_err(|e| StoreError::damaged(path, e))?;
    Ok((value, carries))
}

fn carries(text: &[u8], known: &[&str]) -> Result<Carries, String> {
    let begin = BEGIN.len();
    if text.starts_with(BEGIN.as_bytes()) && text.len() >= begin + BLANK.len() {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&text[..begin]).update(BLANK.as_bytes()).update(&text[begin + BLANK.len()..]);
        let fits = hasher.finalize().to_hex().as_bytes() == &text[begin..begin + BLANK.len()];
        let why = "it was changed: its digest does not fit; restore it from a copy";
        return if fits { Ok(Carries::Digest) } else { Err(why.to_owned()) };
    }
    let members: Map<String, Value> = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(Carries::Nothing),
        Some(name) => Err(format!("it has no digest and a member that is unknown, {name:?}; restore it from a copy")),
    }
}

impl Store {
    /// Keeps `value`, a structure, as JSON with a checksum in place of the file at `path`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn put_json<T: Serialize>(&self, path: &Path, value: &T) -> Result<(), StoreError> {
        self.replace(path, &text_of(value, path)?, Keeps::OverPowerLoss)
    }

    /// The value kept by [`Store::put_json`]; `known`: members that a file from before there were checksums may have.
    ///
    /// # Errors
    /// When there is no such file, or it is not what was kept.
    pub fn get_json<T: DeserializeOwned>(&self, path: &Path, known: &[&str]) -> Result<T, StoreError> {
        value_of(&self.read_own(path)?, path, known).map(|(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Carries, text_of, value_of};
    use crate::Labels;

    const KNOWN: &[&str] = &["name", "tags", "baseline", "remarks", "windows"];

    #[test]
    fn every_flipped_bit_of_a_text_is_an_error() {
        let labels = Labels { name: Some("a".to_owned()), remarks: vec!["0".repeat(64)], ..Labels::default() };
        let path = Path::new("labels.json");
        let text = text_of(&labels, path).unwrap();
        assert_eq!(value_of::<Labels>(&text, path, KNOWN).unwrap(), (labels, Carries::Digest));
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = value_of::<Labels>(&flipped, path, KNOWN);
            assert!(read.is_err(), "bit {bit}: {}", String::from_utf8_lossy(&flipped));
        }
    }

    #[test]
    fn a_text_from_before_checksums_is_read_unless_a_name_in_it_is_unknown() {
        let path = Path::new("labels.json");
        let read = |text: &str| value_of::<Labels>(text.as_bytes(), path, KNOWN);
        let (labels, carries) = read(r#"{"name": "old", "tags": {}}"#).unwrap();
        assert_eq!((labels.name.as_deref(), carries), (Some("old"), Carries::Nothing));
        assert!(read(r#"{"namf": "old"}"#).is_err());
    }
}
