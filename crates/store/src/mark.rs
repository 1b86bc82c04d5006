//! `store.json`: marks a directory as a store, with its format version and access mode.
//!
//! People may change `private` by hand; what must not change has its own checksum beside it.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{FORMAT, Folder, StoreError, fs::Modes};

/// The file that marks a directory as a store, and its maximum size in bytes.
pub(crate) const MARK: &str = "store.json";
pub(crate) const MARK_BYTES: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    format: u32,
    id: String,
    /// BLAKE3 of format and id, sixteen digits of it; not in stores of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    /// Whether files are written for their owner alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
    /// Further folders to which everything is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    copies: Vec<PathBuf>,
}

/// Settings in the mark of a store.
pub(crate) struct Settings {
    pub(crate) modes: Modes,
    pub(crate) copies: Vec<PathBuf>,
}

fn check(format: u32, id: &str) -> String {
    let mut digits = blake3::hash(format!("{format} {id}").as_bytes()).to_hex().to_string();
    digits.truncate(16);
    digits
}

/// The modes of a store whose creator is this process: what root records, command lines of all users among it, is
/// for root alone until the setting is changed.
pub(crate) fn of_creator() -> Modes {
    if rustix::process::geteuid().is_root() { Modes::Private } else { Modes::ByUmask }
}

/// Writes a new store's mark.
pub(crate) fn write(store: &Path, id: u64, modes: Modes) -> Result<(), StoreError> {
    let path = store.join(MARK);
    let id = format!("{id:016x}");
    let mark = Mark {
        format: FORMAT,
        check: Some(check(FORMAT, &id)),
        id: id.clone(),
        private: modes == Modes::Private,
        copies: Vec::new(),
    };
    let mut text = serde_json::to_vec_pretty(&mark).map_err(|e| StoreError::damaged(&path, e))?;
    text.push(b'\n');
    let part = format!("{PART}{id}");
    let folder = Folder::open(store)?;
    let mut file = folder.create(&part, modes.of_files())?;
    file.write_all(&text)?;
    file.sync_all()?;
    match folder.rename(&part, &folder, MARK) {
        // Somebody else made the store meanwhile, and took this part for one that was left.
        Err(e) if e.kind() == io::ErrorKind::NotFound && path.exists() => {}
        renamed => renamed?,
    }
    Ok(folder.sync()?)
}

/// Beginning of the name of a mark until it is written.
pub(crate) const PART: &str = ".store.json.part-";

/// The id in a store's mark; empty where it is none.
pub(crate) fn id_of(text: &[u8]) -> String {
    serde_json::from_slice::<Mark>(text).map(|mark| mark.id).unwrap_or_default()
}

/// The mark of a copy of a store: the store's own, without copies.
pub(crate) fn of_copy(text: &[u8]) -> serde_json::Result<Vec<u8>> {
    let mut mark: Mark = serde_json::from_slice(text)?;
    mark.copies.clear();
    let mut text = serde_json::to_vec_pretty(&mark)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads a store's mark; gives who may read what is written, and where else that is to be.
pub(crate) fn read(text: &[u8], path: &Path) -> Result<Settings, StoreError> {
    // Only the version at first: the rest of a later format may differ.
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let found: Version = serde_json::from_slice(text).map_err(|e| StoreError::damaged(path, e))?;
    if found.format > FORMAT {
        return Err(StoreError::Version { path: path.to_owned(), found: found.format, known: FORMAT });
    }
    let mark: Mark = serde_json::from_slice(text).map_err(|e| StoreError::damaged(path, e))?;
    let is_id = mark.id.len() == 16 && mark.id.bytes().all(|b| b.is_ascii_hexdigit());
    if mark.format == 0 || !is_id || mark.check.is_some_and(|digits| digits != check(mark.format, &mark.id)) {
        return Err(StoreError::damaged(path, "its format or id was changed; restore both from a copy"));
    }
    let own = path.parent().unwrap_or(path);
    if let Some(odd) =
        mark.copies.iter().find(|copy| !copy.is_absolute() || own.starts_with(copy) || copy.starts_with(own))
    {
        let why = format!(
            "`copies` names {}: a copy is another folder, from the root on, neither in the store nor around it",
            odd.display()
        );
        return Err(StoreError::damaged(path, why));
    }
    let modes = if mark.private { Modes::Private } else { Modes::ByUmask };
    Ok(Settings { modes, copies: mark.copies })
}
