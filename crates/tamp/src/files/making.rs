//! A new file has no name, or a hidden one, until it is whole and on disk.
//!
//! Where the file system can make a file without a name, nothing is left of one that was not finished, however the
//! process ended. On other file systems, and for the moment in which a file takes the place of another, it has a hidden name, and is locked as
//! long as somebody writes to it: what is not locked is a leftover, which the next one for the same file removes.

use std::{
    ffi::{OsStr, OsString},
    fs::Metadata,
    io,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use fs_err::{File, OpenOptions, os::unix::fs::OpenOptionsExt};
use rustix::{
    fs::{
        AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid, fchmod,
        fchown, flock, fstat, futimens, linkat, open, renameat_with, stat, unlinkat,
    },
    io::Errno,
    process::geteuid,
};

use super::attributes;

/// How many hidden names there are for a file.
const TRIES: u32 = 100;

/// A file that is being made. Unless it is kept, it is removed.
#[derive(Debug)]
pub struct Making {
    path: PathBuf,
    file: File,
    /// The hidden name, if it has one.
    hidden: Option<PathBuf>,
}

/// Treatment of an existing file of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and [`Making::keep`] fails.
    Stays,
    /// It is replaced.
    Replaced,
}

/// When a file has to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// Before it gets its name: something else is going to be removed for it.
    Now,
    /// When the system writes it: what it was made of stays.
    Later,
}

/// The file that the new one replaces.
#[derive(Clone, Copy, Debug)]
pub struct Like<'a> {
    /// The file, whose extended attributes are read.
    pub file: &'a File,
    /// Its owner, mode and times.
    pub facts: &'a Metadata,
}

impl Making {
    /// Begins a file that will be called `path`, in the same directory, with this mode as far as the process may give it:
    /// 0o600 if it will get that of another file, so that others cannot read it before.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn begin(path: &Path, mode: u32) -> io::Result<(Making, File)> {
        let name = name_of(path)?;
        for n in 0..TRIES {
            // Leftovers of an earlier one; one after the other, as most have none.
            if !remove_leftover(&hidden_name(path, name, n)) {
                break;
            }
        }
        let (file, hidden) = match nameless(path, mode) {
            Some(file) => (file, None),
            None => named(path, mode).map(|(file, hidden)| (file, Some(hidden)))?,
        };
        let theirs = file.try_clone()?;
        Ok((Making { path: path.to_owned(), file, hidden }, theirs))
    }

    /// Gives the file owner, extended attributes, mode and times of `like`, and its name; both are synced where that is
    /// asked for.
    /// Attributes that could not be given are reported.
    ///
    /// # Errors
    /// The file cannot be synced or renamed; there is a file of that name, and it stays.
    pub fn keep(mut self, like: Option<Like<'_>>, existing: Existing, on_disk: OnDisk) -> io::Result<Vec<String>> {
        let lost = match like {
            Some(like) => copy_facts(&self.file, like)?,
            None => Vec::new(),
        };
        if on_disk == OnDisk::Now {
            self.file.sync_all()?;
        }
        match (&self.hidden, existing) {
            (Some(hidden), Existing::Stays) => rename_if_free(hidden, &self.path)?,
            (Some(hidden), Existing::Replaced) => fs_err::rename(hidden, &self.path)?,
            (None, Existing::Stays) => link(&self.file, &self.path).map_err(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => exists_already(&self.path),
                _ => e,
            })?,
            (None, Existing::Replaced) => self.replace()?,
        }
        self.hidden = None;
        if on_disk == OnDisk::Now {
            sync_directory(&self.path)?;
        }
        Ok(lost)
    }

    /// Gives a file without a name that of another one: a link cannot take a name away, so that it needs its own
    /// for a moment.
    fn replace(&mut self) -> io::Result<()> {
        match link(&self.file, &self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        flock(&self.file, FlockOperation::NonBlockingLockExclusive).or_else(without_locks)?;
        let name = name_of(&self.path)?.to_owned();
        for n in 0..TRIES {
            let hidden = hidden_name(&self.path, &name, n);
            match link(&self.file, &hidden) {
                Ok(()) => {
                    let hidden = self.hidden.insert(hidden);
                    return fs_err::rename(hidden, &self.path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(no_free_name(&self.path))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // It may be gone already, and there is no caller to report to.
            let _ = fs_err::remove_file(hidden);
        }
    }
}

fn name_of(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no name"))
}

fn no_free_name(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{}: no free name beside it", path.display()))
}

fn exists_already(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("`{}` exists already", path.display()))
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file without a name in the directory of `path`; None where there are none, or none that could get a name.
fn nameless(path: &Path, mode: u32) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = open(directory_of(path), flags, Mode::from_raw_mode(mode)).ok()?;
    // It gets its name by this way.
    stat(by_descriptor(&file)).ok()?;
    Some(File::from_parts(file.into(), path))
}

fn by_descriptor(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    linkat(CWD, by_descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot make {}: {e}", path.display())))
}

/// A file with a hidden name beside `path`, locked.
fn named(path: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let name = name_of(path)?;
    for n in 0..TRIES {
        let hidden = hidden_name(path, name, n);
        let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(&hidden);
        let file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        flock(&file, FlockOperation::NonBlockingLockExclusive).or_else(without_locks)?;
        // Before it was locked, it looked like a leftover.
        let (ours, there) = (fstat(&file)?, stat(&hidden));
        if there.is_ok_and(|there| (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)) {
            return Ok((file, hidden));
        }
    }
    Err(no_free_name(path))
}

/// A file system without locks has no leftovers removed; a lock that was just taken is recognised by what is there.
fn without_locks(_: Errno) -> rustix::io::Result<()> {
    Ok(())
}

/// The hidden name number `n`: the same for every process, so that the next one finds it.
fn hidden_name(path: &Path, name: &OsStr, n: u32) -> PathBuf {
    let mut hidden = OsString::from(".");
    hidden.push(shortened(name));
    hidden.push(format!(".tamp-{n}"));
    path.with_file_name(hidden)
}

/// Removes a file of this user at a hidden name, unless somebody writes to it; whether there was anything.
fn remove_leftover(hidden: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = match open(hidden, flags, Mode::empty()) {
        Ok(file) => file,
        Err(error) => return error != Errno::NOENT,
    };
    let is_ours = fstat(&file).is_ok_and(|facts| {
        FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_uid == geteuid().as_raw()
    });
    if is_ours && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let _ = unlinkat(CWD, hidden, AtFlags::empty());
    }
    true
}

/// The beginning of a name, so that a longer one is not too long for the file system.
fn shortened(name: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = name.as_bytes();
    OsString::from_vec(bytes[..bytes.len().min(200)].to_vec())
}

/// Owner, extended attributes, mode and times, as far as this user may set them; attributes that could not be given.
fn copy_facts(file: &File, like: Like<'_>) -> io::Result<Vec<String>> {
    let facts = like.facts;
    let owner = fchown(file, Some(Uid::from_raw(facts.uid())), Some(Gid::from_raw(facts.gid())));
    let mut mode = facts.mode() & 0o7777;
    if owner.is_err() {
        // Rights of another user's file are not for this user's group, and never set-user-ID.
        let group = fchown(file, None, Some(Gid::from_raw(facts.gid())));
        mode &= if group.is_ok() { 0o777 } else { 0o707 };
    }
    // Before the mode, whose bits for the group limit what a list of rights gives.
    let lost = attributes::copy(like.file, file, owner.is_ok());
    fchmod(file, Mode::from_raw_mode(mode))?;
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    futimens(
        file,
        &Timestamps {
            last_access: time(facts.atime(), facts.atime_nsec()),
            last_modification: time(facts.mtime(), facts.mtime_nsec()),
        },
    )?;
    Ok(lost)
}

fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot: the name was free when it was looked at before.
        Err(Errno::INVAL | Errno::NOSYS) if !exists(to) => fs_err::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS | Errno::EXIST) => Err(exists_already(to)),
        other => Ok(other?),
    }
}

fn exists(path: &Path) -> bool {
    fs_err::symlink_metadata(path).is_ok()
}

/// Makes a rename in the directory of `path` survive a crash.
///
/// # Errors
/// It cannot be synced, on a file system that can.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path)).and_then(|directory| directory.sync_all()) {
        // A directory that may be written but not read cannot be opened.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_kept_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("made");
        let (making, _file) = Making::begin(&path, 0o666).expect("begins");
        drop(making);
        assert_eq!(fs_err::read_dir(directory.path()).expect("readable").count(), 0);
    }

    #[test]
    fn an_existing_file_stays_unless_it_is_to_be_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("made");
        fs_err::write(&path, "old").expect("written");
        let (making, _file) = Making::begin(&path, 0o666).expect("begins");
        let error = making.keep(None, Existing::Stays, OnDisk::Now).expect_err("exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs_err::read_to_string(&path).expect("read"), "old");
        let (making, _file) = Making::begin(&path, 0o666).expect("begins");
        making.keep(None, Existing::Replaced, OnDisk::Now).expect("replaced");
        assert_eq!(fs_err::read_to_string(&path).expect("read"), "");
        assert_eq!(fs_err::read_dir(directory.path()).expect("readable").count(), 1);
    }

    #[test]
    fn mode_and_times_are_those_of_the_other_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        fs_err::write(&old, "x").expect("written");
        let file = File::open(&old).expect("open");
        fchmod(&file, Mode::from_raw_mode(0o640)).expect("mode");
        let then = Timespec { tv_sec: 1_000_000_000, tv_nsec: 123_456_789 };
        futimens(&file, &Timestamps { last_access: then, last_modification: then }).expect("times");
        let like = fs_err::metadata(&old).expect("facts");
        let (making, _file) = Making::begin(&new, 0o600).expect("begins");
        making.keep(Some(Like { file: &file, facts: &like }), Existing::Stays, OnDisk::Now).expect("kept");
        let made = fs_err::metadata(&new).expect("facts");
        assert_eq!((made.mode(), made.uid(), made.gid()), (like.mode(), like.uid(), like.gid()));
        assert_eq!((made.mtime(), made.mtime_nsec()), (1_000_000_000, 123_456_789));
    }
}
