//! A place with a remote store, of any kind.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    CarryError,
    directory::Directory,
    fetch::{Body, Patience},
    s3::S3,
};

/// A place for files with names as `runs/run=<id>/run.json`. A file is there whole or not at all.
pub trait Place: Sync {
    /// The place in words, for messages.
    fn name(&self) -> String;

    /// How long it may take for what it is asked.
    fn patience(&self) -> Patience;

    /// Names and sizes of all files of a store that are there.
    ///
    /// # Errors
    /// When the place cannot be asked, or its list is none that a place gives.
    fn list(&self) -> Result<BTreeMap<String, u64>, CarryError>;

    /// Puts a file there, in place of one that is there.
    ///
    /// # Errors
    /// When it cannot be read, or does not arrive.
    fn put_file(&self, name: &str, path: &Path) -> Result<(), CarryError>;

    /// The same with bytes at hand.
    ///
    /// # Errors
    /// When they do not arrive.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CarryError>;

    /// Begins to get a file; None when it is not there. Nothing that comes is checked yet.
    ///
    /// # Errors
    /// When the place cannot be asked.
    fn open(&self, name: &str) -> Result<Option<Body>, CarryError>;

    /// Removes a file; one that is not there is removed already.
    ///
    /// # Errors
    /// When the place refuses.
    fn delete(&self, name: &str) -> Result<(), CarryError>;

    /// Removes what commands left there that were killed long ago.
    ///
    /// # Errors
    /// When the place refuses.
    fn clear(&self) -> Result<(), CarryError> {
        Ok(())
    }
}

/// The most files that a list may have: those of 30,000 runs that were not compacted.
pub(crate) const MOST_NAMES: usize = 1_000_000;
/// The largest file that a list may have.
pub(crate) const LARGEST: u64 = 1 << 40;

/// The error for a list without an end.
pub(crate) fn too_many(place: &dyn Place) -> CarryError {
    let why =
        format!("its list has more than {MOST_NAMES} files; `fenxi store compact` before pushing makes them fewer");
    CarryError::Storage { what: place.name(), why }
}

/// The place at an address: `s3://BUCKET/PREFIX`, `file:///DIRECTORY`, or a directory.
///
/// # Errors
/// When the address names none, or the environment has no credentials.
pub fn open(address: &str, now: fn() -> fenxi_model::Micros) -> Result<Box<dyn Place>, CarryError> {
    if let Some(rest) = address.strip_prefix("s3://") {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(CarryError::Address(address.to_owned()));
        }
        return Ok(Box::new(S3::from_environment(bucket, prefix, now)?));
    }
    let path = match address.split_once("://") {
        None => address,
        Some(("file", path)) if path.starts_with('/') => path,
        Some(_) => return Err(CarryError::Address(address.to_owned())),
    };
    if path.is_empty() {
        return Err(CarryError::Address(address.to_owned()));
    }
    Ok(Box::new(Directory::new(PathBuf::from(path), now)))
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::open;

    #[test]
    fn addresses_name_directories_or_say_what_they_should() {
        let named = |address: &str| open(address, || Micros(0)).map(|place| place.name()).map_err(|e| e.to_string());
        assert_eq!(named("/srv/fenxi").unwrap(), "/srv/fenxi");
        assert_eq!(named("file:///srv/fenxi").unwrap(), "/srv/fenxi");
        for wrong in ["", "file://host/x", "gs://bucket", "s3:///x"] {
            assert!(named(wrong).unwrap_err().contains("names no place"), "{wrong}");
        }
    }
}
