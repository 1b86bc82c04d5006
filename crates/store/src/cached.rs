//! Cache files that are trusted only with their checksum: `<file>` and, beside it, `<file>.b3`.
//!
//! Both are replaced while changes are locked out, so that a pair that does not fit is damaged and not half replaced.

use std::{
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;

use crate::{Store, StoreError, checked::Expected, locks::Keeps, verified};

/// Where the checksum of a cached file is.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".b3");
    name.into()
}

impl Store {
    /// Puts the finished file `part` (best in a [`Scratch`](crate::Scratch)) into the cache, at `path`, with a checksum
    /// beside it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn keep_cached(&self, part: &Path, path: &Path) -> Result<(), StoreError> {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut fs::File::open(part)?, &mut hasher)?;
        let line = format!("{} {bytes}\n", hasher.finalize().to_hex());
        self.modes().apply(part)?;
        let _turn = self.changing()?;
        self.replace(&beside(path), &verified::sealed(&line), Keeps::Cached)?;
        self.move_in(part, path)
    }

    /// Keeps `bytes` as the derived file `path`, at the path that [`Store::derived`] gives.
    ///
    /// # Errors
    /// When the store cannot be written; it is read all the same, only slower.
    pub fn keep_derived(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.make_derived()?;
        let scratch = self.scratch()?;
        let part = scratch.path("derived");
        fs::write(&part, bytes)?;
        self.keep_cached(&part, path)
    }

    /// Reads the cached content of `path`; None where there is none, or it is damaged.
    pub fn read_cached(&self, path: &Path) -> Option<Vec<u8>> {
        if self.has_cached(path) { self.read_own(path).ok() } else { None }
    }

    /// Returns true if the cache has the file at `path`, as it was kept. What is damaged is removed, so that it is made anew.
    pub fn has_cached(&self, path: &Path) -> bool {
        if self.is_as_kept(path) {
            return true;
        }
        if !path.exists() {
            return false;
        }
        let Ok(_turn) = self.changing() else { return false };
        // Somebody may just have been replacing it.
        if self.is_as_kept(path) {
            return true;
        }
        // A file that cannot be removed is not used either.
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(beside(path));
        false
    }

    /// Removes a file of the cache, with its checksum.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn forget_cached(&self, path: &Path) -> Result<(), StoreError> {
        for path in [path.to_owned(), beside(path)] {
            match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_as_kept(&self, path: &Path) -> bool {
        self.cached_as(path).is_some_and(|expected| self.check_one(expected).is_ok())
    }

    /// The record beside a cached file; None where it is missing or invalid.
    pub(crate) fn cached_as(&self, path: &Path) -> Option<Expected> {
        let text = self.read_own(&beside(path)).ok()?;
        let (blake3, bytes) = verified::body(&text)?.trim_end().split_once(' ')?;
        Some(Expected { path: path.to_owned(), bytes: Some(bytes.parse().ok()?), blake3: blake3.to_owned() })
    }
}
