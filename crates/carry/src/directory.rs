//! A directory as a place: a file system that several machines share, or a disk that is carried.
//!
//! Others may write there. Nothing that they put there is followed or waited for, see [`Folder`].

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
};

use fenxi_model::Micros;
use fenxi_store::{Entry, Folder, PART, open_regular};
use fs_err as fs;
use rustix::fs::FileType;

use crate::{
    CarryError, Place,
    fetch::{Body, Patience},
    names::STATE,
    place::{MOST_NAMES, too_many},
};

/// Entries of a directory that belong to a store; all others there are ignored.
const OURS: &[&str] =
    &["store.json", STATE, "runs", "labels", "compacted", "questions", "formats", "findings", "studies"];
/// Folders in folders: a store has three of them, and one more for what a later one may have.
const DEPTH: usize = 4;
/// Seconds after which an unfinished file is one of a command that was killed.
const OLD_S: i64 = 86_400;

/// A directory.
pub(crate) struct Directory {
    path: PathBuf,
    now: fn() -> Micros,
}

impl Directory {
    pub(crate) fn new(path: PathBuf, now: fn() -> Micros) -> Directory {
        Directory { path, now }
    }

    /// The directory, opened; None when it is not there.
    fn folder(&self) -> io::Result<Option<Folder>> {
        match Folder::open(&self.path) {
            Ok(folder) => Ok(Some(folder)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn put_with(&self, name: &str, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<(), CarryError> {
        fs::create_dir_all(&self.path)?;
        let folder = Folder::open(&self.path)?;
        if let Some((folders, _)) = name.rsplit_once('/') {
            folder.make(folders, 0o777)?;
        }
        Ok(folder.put(name, 0o666, write)?)
    }

    /// Gives every file of the store to `each`, with its name.
    fn walk(&self, each: &mut dyn FnMut(String, &Entry) -> Result<(), CarryError>) -> Result<(), CarryError> {
        let Some(folder) = self.folder()? else { return Ok(()) };
        for entry in folder.entries()? {
            if OURS.contains(&entry.name.as_str()) || is_unfinished(&entry.name) {
                walk(&folder, "", &entry, DEPTH, each)?;
            }
        }
        Ok(())
    }
}

/// Whether a file is called as one that is not whole yet.
fn is_unfinished(name: &str) -> bool {
    let digits = name.strip_prefix('.').and_then(|name| name.strip_suffix(PART));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn walk(
    folder: &Folder,
    within: &str,
    entry: &Entry,
    depth: usize,
    each: &mut dyn FnMut(String, &Entry) -> Result<(), CarryError>,
) -> Result<(), CarryError> {
    let name = format!("{within}{}", entry.name);
    match entry.kind {
        FileType::RegularFile => each(name, entry),
        FileType::Directory if depth > 0 => {
            let below = folder.below(&entry.name)?;
            let within = format!("{name}/");
            below.entries()?.iter().try_for_each(|entry| walk(&below, &within, entry, depth - 1, each))
        }
        // It is not read, and not written into.
        _ if name.ends_with(PART) => Ok(()),
        _ => match folder.file(&entry.name) {
            // Gone since it was listed.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            // The error names what is there in place of a file.
            other => Ok(other.map(drop)?),
        },
    }
}

impl Place for Directory {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn patience(&self) -> Patience {
        Patience::default()
    }

    fn list(&self) -> Result<BTreeMap<String, u64>, CarryError> {
        let mut found = BTreeMap::new();
        self.walk(&mut |name, entry| {
            if !name.ends_with(PART) {
                found.insert(name, entry.bytes);
            }
            if found.len() > MOST_NAMES { Err(too_many(self)) } else { Ok(()) }
        })?;
        Ok(found)
    }

    fn put_file(&self, name: &str, path: &Path) -> Result<(), CarryError> {
        let mut from = open_regular(path)?;
        self.put_with(name, |file| io::copy(&mut from, file).map(drop))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CarryError> {
        self.put_with(name, |file| file.write_all(bytes))
    }

    fn open(&self, name: &str) -> Result<Option<Body>, CarryError> {
        let Some(folder) = self.folder()? else { return Ok(None) };
        match folder.file(name) {
            Ok(file) => {
                let bytes = Some(file.metadata()?.len());
                Ok(Some(Body { reader: Box::new(file), bytes }))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn delete(&self, name: &str) -> Result<(), CarryError> {
        if let Some(folder) = self.folder()? {
            folder.remove(name)?;
        }
        Ok(())
    }

    fn clear(&self) -> Result<(), CarryError> {
        let before = (self.now)().0 / 1_000_000 - OLD_S;
        let Some(folder) = self.folder()? else { return Ok(()) };
        self.walk(&mut |name, entry| {
            if is_unfinished(&entry.name) && entry.changed_s < before {
                folder.remove(&name)?;
            }
            Ok(())
        })
    }
}
