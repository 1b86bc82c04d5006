//! A place where a store lies elsewhere, whatever it is.

use std::{collections::BTreeMap, path::Path};

use crate::{
    CarryError,
    fetch::{Body, Patience},
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
