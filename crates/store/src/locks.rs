//! Locks: which commands exclude each other, and what a killed command may leave.
//!
//! Locks are of the kernel (flock): they end with the process that holds them. `locks/changes` is held while something small is
//! read, changed and written. What takes longer is made in a hidden directory `open/.new-*` that its maker keeps
//! locked; `locks/begin` closes the gap between making such a directory and locking it: who holds that lock alone
//! knows that every directory without a lock belongs to the dead.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use fs_err as fs;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::{Folder, Store, StoreError};

/// Folders of small files that may change and are written to all copies.
pub(crate) const SMALL: &[&str] =
    &["labels", "studies", "questions", "questions/.kept", "formats", "findings", "boards", "compacted"];
/// The longest that a change waits for others; each takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks whether it is its turn.
const LOOK: Duration = Duration::from_millis(2);

/// A lock that is held as long as the value lives.
#[derive(Debug)]
pub(crate) struct HeldLock {
    _file: fs::File,
}

/// A directory of the store for what is not yet finished: no reader looks into it, and it is gone with the value, or after
/// a kill with the next command. Files in it can be renamed to their place.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    folder: Folder,
    _lock: HeldLock,
}

impl Scratch {
    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that stay are hidden, and removed by a later command.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The right to record a series, as long as the value lives.
#[derive(Debug)]
pub struct SeriesLock {
    _held: HeldLock,
}

impl Store {
    /// The right to record a series and to remove old runs of it; None when another process has it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn lock_series(&self, series: &str) -> Result<Option<SeriesLock>, StoreError> {
        let name: String = series.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        match self.wait(&format!("series-{name}"), FlockOperation::NonBlockingLockExclusive, Duration::ZERO) {
            Ok(held) => Ok(Some(SeriesLock { _held: held })),
            Err(StoreError::Busy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A directory for what is not yet finished.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn scratch(&self) -> Result<Scratch, StoreError> {
        let _beginning = self.beginning()?;
        let open = self.folder()?.make("open", self.modes().of_folders())?;
        let mut turn = 0u32;
        let (dir, folder) = loop {
            let name = format!(".new-scratch-{}-{turn}", std::process::id());
            match open.make_new(&name, self.modes().of_folders()) {
                Ok(folder) => break (self.open_dir().join(name), folder),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => turn += 1,
                Err(e) => return Err(e.into()),
            }
        };
        let locked = folder.create("lock", self.file_mode()).and_then(|file| {
            flock(file.file(), FlockOperation::NonBlockingLockExclusive)?;
            Ok(HeldLock { _file: file })
        });
        match locked {
            Ok(lock) => Ok(Scratch { dir, folder, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&dir);
                Err(error.into())
            }
        }
    }

    /// The right to change labels, questions and other small things; everybody else waits.
    pub(crate) fn changing(&self) -> Result<HeldLock, StoreError> {
        self.wait("changes", FlockOperation::NonBlockingLockExclusive, PATIENCE)
    }

    /// The right to do what only one process does at a time; callers do not wait for it.
    pub(crate) fn only_one(&self, name: &str) -> Result<HeldLock, StoreError> {
        self.wait(name, FlockOperation::NonBlockingLockExclusive, Duration::ZERO)
    }

    /// The right to write to copies and to what is known of them.
    pub(crate) fn mirroring(&self) -> Result<HeldLock, StoreError> {
        self.wait("copies", FlockOperation::NonBlockingLockExclusive, PATIENCE)
    }

    /// Held from the announcement of a change until it reached the copies, by as many as there are.
    pub(crate) fn changes_copies(&self) -> Result<HeldLock, StoreError> {
        self.wait("changes-copies", FlockOperation::NonBlockingLockShared, PATIENCE)
    }

    /// Held while no announced change goes on.
    pub(crate) fn no_change_of_copies(&self) -> Result<HeldLock, StoreError> {
        self.wait("changes-copies", FlockOperation::NonBlockingLockExclusive, PATIENCE)
    }

    /// Held while a hidden directory is made, until it is locked itself or has got its own name.
    pub(crate) fn beginning(&self) -> Result<HeldLock, StoreError> {
        self.wait("begin", FlockOperation::NonBlockingLockShared, PATIENCE)
    }

    /// Held while no process is between making a hidden directory and locking it; None when one is.
    pub(crate) fn nobody_begins(&self) -> Option<HeldLock> {
        self.wait("begin", FlockOperation::NonBlockingLockExclusive, Duration::ZERO).ok()
    }

    fn wait(&self, name: &str, how: FlockOperation, patience: Duration) -> Result<HeldLock, StoreError> {
        let path = self.path().join("locks").join(name);
        let file = self.folder()?.make("locks", self.modes().of_folders())?.append(name, self.file_mode())?;
        let mut waited = Duration::ZERO;
        loop {
            match flock(file.file(), how) {
                Ok(()) => return Ok(HeldLock { _file: file }),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if waited < patience => {
                    std::thread::sleep(LOOK);
                    waited += LOOK;
                }
                Err(Errno::WOULDBLOCK) => return Err(StoreError::Busy { path, seconds: patience.as_secs() }),
                Err(e) => return Err(io::Error::from(e).into()),
            }
        }
    }

    /// Replaces a file of the store: a reader sees the old or the new one, never a part, and a kill leaves
    /// nothing that stays.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8], keeps: Keeps) -> Result<(), StoreError> {
        let write = |file: &mut fs::File| io::Write::write_all(file, bytes);
        let name = self.name_of(path)?;
        if is_mirrored(name) {
            return self.mirrored(&[name.to_owned()], || self.replace_by(path, keeps, write));
        }
        self.replace_by(path, keeps, write)
    }

    /// The same of this store alone, with what `write` writes; durable before the call returns.
    pub(crate) fn replace_with(
        &self,
        path: &Path,
        write: impl FnOnce(&mut fs::File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        self.replace_by(path, Keeps::OverPowerLoss, write)
    }

    fn replace_by(
        &self,
        path: &Path,
        keeps: Keeps,
        write: impl FnOnce(&mut fs::File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let scratch = self.scratch()?;
        let mut file = scratch.folder.create("part", self.file_mode())?;
        write(&mut file)?;
        if keeps == Keeps::OverPowerLoss {
            file.sync_all()?;
        }
        let (parent, name) = self.place_of(path)?;
        scratch.folder.rename("part", &parent, name)?;
        if keeps == Keeps::OverPowerLoss { Ok(parent.sync()?) } else { Ok(()) }
    }

    /// Gives the finished file at `part`, in the store, its place at `path`.
    pub(crate) fn move_in(&self, part: &Path, path: &Path) -> Result<(), StoreError> {
        let ((from, part), (to, name)) = (self.place_of(part)?, self.place_of(path)?);
        Ok(from.rename(part, &to, name)?)
    }

    /// The folder in which `path` lies, opened from the store down, and its name there.
    fn place_of<'p>(&self, path: &'p Path) -> Result<(Folder, &'p str), StoreError> {
        let (folders, name) = self.name_of(path)?.rsplit_once('/').unwrap_or(("", self.name_of(path)?));
        Ok((self.folder()?.below(folders)?, name))
    }
}

/// Whether what has this name in the store is in its copies as well.
fn is_mirrored(name: &str) -> bool {
    let (folder, _) = name.rsplit_once('/').unwrap_or(("", name));
    SMALL.contains(&folder) || folder.starts_with("runs/")
}

/// How long what is written must last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// It is durable before the call returns.
    OverPowerLoss,
    /// Losing it is harmless.
    Cached,
}
