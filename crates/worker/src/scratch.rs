//! The folder in which workers may spill: of an unpredictable name, private, removed with its owner.
//!
//! It is locked for as long as its owner lives. What a killed owner left is known by the lock being free, and removed by
//! the template that it had started; what that one left as well, by the next one that makes a folder there.

use std::{
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use fs_err as fs;
use rustix::fs::{FlockOperation, flock};

/// Prefix of names of such folders.
const PREFIX: &str = "fenxi-worker-";
/// Their prefix until their lock is held: a search for leftovers must not lock it first.
const MAKING: &str = "fenxi-making-";
/// The file in it that is locked.
const LOCK: &str = "lock";
/// How often, and how long apart, it is looked whether the lock is free.
const LOOKS: u32 = 40;
const LOOK: Duration = Duration::from_millis(25);

/// A private folder, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// Held open and locked.
    _lock: fs::File,
}

impl Scratch {
    /// Makes one below `parent`, and removes what killed owners left there.
    pub(crate) fn make(parent: &Path) -> io::Result<Scratch> {
        remove_left(parent);
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(|e| io::Error::other(e.to_string()))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let (making, path) = (parent.join(format!("{MAKING}{name}")), parent.join(format!("{PREFIX}{name}")));
        fs_err::create_dir_all(parent)?;
        std::fs::DirBuilder::new().mode(0o700).create(&making)?;
        let lock = fs::File::create_new(making.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs_err::rename(&making, &path)?;
        Ok(Scratch { path, _lock: lock })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder in it for the session `id`.
    pub(crate) fn session(&self, id: u32) -> io::Result<PathBuf> {
        let path = self.path.join(id.to_string());
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed is removed by the next one.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folder `path` when its owner, who was killed, left it: to be called by what the owner had started. The lock may be
/// held for a moment longer than the owner's sockets are open.
pub fn remove_if_left(path: &Path) {
    for _ in 0..LOOKS {
        let Ok(lock) = fs::File::open(path.join(LOCK)) else { return };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(path);
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Removes folders whose owners have gone: own ones, so that no other user can make us remove something else.
fn remove_left(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let me = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_made = name.to_string_lossy().starts_with(PREFIX);
        let Ok(about) = fs::symlink_metadata(entry.path()) else { continue };
        if !(is_made || name.to_string_lossy().starts_with(MAKING)) || !about.is_dir() || about.uid() != me {
            continue;
        }
        let is_left = match fs::File::open(entry.path().join(LOCK)) {
            Ok(lock) if is_made => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
            // Made this moment, or half removed: only an old one is surely left.
            _ => about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() > 60)),
        };
        if is_left {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PREFIX, Scratch, remove_if_left};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_an_owner_left_is_removed_and_what_it_has_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let owned = Scratch::make(parent.path()).unwrap();
        remove_if_left(owned.path());
        assert!(owned.path().exists());
        let left = parent.path().join(format!("{PREFIX}left"));
        fs_err::create_dir_all(left.join("7")).unwrap();
        for name in ["lock", "7/spilled"] {
            fs_err::write(left.join(name), "").unwrap();
        }
        remove_if_left(&left);
        assert!(!left.exists());
        remove_if_left(&left);
    }

    #[test]
    fn a_folder_is_private_and_goes_with_its_owner_and_what_was_left_goes_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let a = Scratch::make(parent.path()).unwrap();
        assert_eq!(fs_err::metadata(&a.path).unwrap().permissions().mode() & 0o777, 0o700);
        let path = a.path.clone();
        // As a killed owner leaves it: there, and not locked.
        let left = parent.path().join(format!("{PREFIX}left"));
        fs_err::create_dir(&left).unwrap();
        fs_err::write(left.join("lock"), "").unwrap();
        let b = Scratch::make(parent.path()).unwrap();
        assert!(!left.exists() && path.exists() && a.path != b.path);
        drop(a);
        assert!(!path.exists());
    }

    #[test]
    fn none_that_is_being_made_is_taken_for_left() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        Scratch::make(parent.path()).unwrap().session(1).unwrap();
                    }
                });
            }
        });
    }
}
