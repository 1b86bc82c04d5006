//! Clean-up of files that killed commands left behind, by the next command.
//!
//! Everything that is not finished has a name by which it is known, and an owner that holds a lock as long as it
//! lives. Neither process numbers nor age decide, except for leftovers of an older fenxi.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use fenxi_model::RunId;
use fs_err as fs;
use rustc_hash::FxHashSet;
use rustix::fs::{FlockOperation, flock};

use crate::{
    Store,
    folder::open_regular,
    fs::names,
    locks::HeldLock,
    mark,
    runs::REMOVED,
    seal::{GONE, SEALING},
    window::DERIVED,
};

/// How old a part of an older fenxi must be, whose owner holds no lock.
const OLD: Duration = Duration::from_secs(3600);
/// Making a store never takes this long.
const MARKING: Duration = Duration::from_secs(10);
/// The directories of a store in which an older fenxi made files before it renamed them.
const WITH_PARTS: &[&str] = &["cache", DERIVED, "cache/uploads", "labels", "questions", "studies"];

impl Store {
    /// Removes what the dead left in `open/`: names alone identify them.
    pub(crate) fn clear_open(&self) {
        if self.knows_only_some() {
            return self.all_runs().clear_open();
        }
        // In this order, as everywhere both are taken. The second is not held to the end: to forget a run is to replace files,
        // which begins with a directory. Those that were found have no owner left, and new ones get names that are free.
        let Ok(_turn) = self.changing() else { return };
        let left = self.left_in_open(self.nobody_begins().as_ref());
        // A process killed between a checksum and its file left the directory of both.
        let checksums = if left.is_empty() { Vec::new() } else { self.left_in_windows() };
        for path in checksums {
            let _ = fs::remove_file(&path);
        }
        for path in left {
            let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else { continue };
            // A run that was being removed, or taken in from an archive, may have left its labels.
            let removed = name.strip_prefix(REMOVED).and_then(RunId::parse);
            let within = names(&path).unwrap_or_default().into_iter().filter_map(|name| RunId::parse(&name));
            let gone = removed.into_iter().chain(within).filter(|id| !self.run_dir(id).exists());
            if gone.map(|id| self.forget(&id)).any(|forgotten| forgotten.is_err()) {
                continue;
            }
            // A leftover that cannot be removed now is tried again by the next command.
            let _ = fs::remove_dir_all(&path);
        }
    }

    /// Checksums whose file was not put beside them any more. Both are put there while changes are locked out.
    fn left_in_windows(&self) -> Vec<PathBuf> {
        let dir = self.path().join(DERIVED);
        let listed: FxHashSet<String> = names(&dir).unwrap_or_default().into_iter().collect();
        let alone = listed.iter().filter(|name| name.strip_suffix(".b3").is_some_and(|of| !listed.contains(of)));
        alone.map(|name| dir.join(name)).collect()
    }

    /// Removes leftovers of older versions in other places too. It lists all runs, so that it is for commands that write.
    pub fn clear(&self) {
        if self.knows_only_some() {
            return self.all_runs().clear();
        }
        self.clear_open();
        for path in self.left_elsewhere() {
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }

    /// Whatever dead commands left.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = self.left_in_open(self.nobody_begins().as_ref());
        found.extend(self.left_elsewhere());
        found.sort();
        found
    }

    /// An owner without a lock while no process begins is dead; otherwise only names decide.
    fn left_in_open(&self, alone: Option<&HeldLock>) -> Vec<PathBuf> {
        let open = self.open_dir();
        let is_left = |name: &&String| {
            if name.starts_with(".new-") {
                return alone.is_some() && !is_held(&open.join(name));
            }
            match name.strip_prefix(SEALING) {
                // Its owner holds the recording, and removes that after the part has got its own name.
                Some(id) => !open.join(id).exists(),
                None => name.starts_with(REMOVED) || name.starts_with(GONE),
            }
        };
        let listed = names(&open).unwrap_or_default();
        listed.iter().filter(is_left).map(|name| open.join(name)).filter(|path| path.exists()).collect()
    }

    fn left_elsewhere(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for name in names(&self.runs_dir()).unwrap_or_default() {
            let is_left = match name.strip_prefix(SEALING) {
                Some(id) => !self.open_dir().join(id).exists(),
                None => name.starts_with(REMOVED),
            };
            if is_left {
                found.push(self.runs_dir().join(name));
            }
        }
        for folder in WITH_PARTS {
            let dir = self.path().join(folder);
            let parts = names(&dir).unwrap_or_default().into_iter().filter(|name| {
                let is_upload = *folder == "cache/uploads";
                let is_part = name.ends_with(".part") || (*folder == "studies" && name.starts_with(".tmp"));
                (is_part || is_upload) && is_older(&dir.join(name), OLD)
            });
            found.extend(parts.map(|name| dir.join(name)));
        }
        let marks = names(self.path()).unwrap_or_default().into_iter().filter(|name| name.starts_with(mark::PART));
        let marks = marks.map(|name| self.path().join(name));
        // Another command may be making the same store at this moment.
        found.extend(marks.filter(|path| is_older(path, MARKING)));
        found
    }
}

/// Whether somebody alive holds the lock of a hidden directory.
fn is_held(dir: &Path) -> bool {
    match open_regular(&dir.join("lock")) {
        Ok(file) => flock(file.file(), FlockOperation::NonBlockingLockExclusive).is_err(),
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Whether a file was last changed longer ago than `age`.
fn is_older(path: &Path, age: Duration) -> bool {
    let modified = fs::metadata(path).and_then(|m| m.modified());
    modified.is_ok_and(|m| m.elapsed().is_ok_and(|passed| passed > age))
}
