//! Replacing one file by another without ever losing both: the new file has another name until it is whole and on disk.

use std::{
    ffi::{OsStr, OsString},
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use fs_err::{File, OpenOptions, os::unix::fs::OpenOptionsExt};
use rustix::{
    fs::{Gid, Mode, RenameFlags, Timespec, Timestamps, Uid, fchmod, fchown, futimens, renameat_with},
    io::Errno,
};

use crate::Format;

/// How many names are tried for a file that has none yet.
const TRIES: u32 = 100;
/// Tells apart the files that this process makes.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A file that is being made. Unless it is kept, it is removed.
#[derive(Debug)]
pub struct Making {
    path: PathBuf,
    temporary: PathBuf,
    kept: bool,
}

/// What happens to a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and [`Making::keep`] fails.
    Stays,
    /// It is replaced.
    Replaced,
}

impl Making {
    /// Begins a file that will be called `path`, in the same directory, with this mode as far as the process may give it:
    /// 0o600 if it will get that of another file, so that nobody reads it before.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn begin(path: &Path, mode: u32) -> io::Result<(Making, File)> {
        let name =
            path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no name"))?;
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = OsString::from(".");
            hidden.push(shortened(name));
            hidden.push(format!(".tamp-{}-{count}", std::process::id()));
            let temporary = path.with_file_name(hidden);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(mode);
            match options.open(&temporary) {
                Ok(file) => return Ok((Making { path: path.to_owned(), temporary, kept: false }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{}: no free name beside it", path.display())))
    }

    /// Gives the file owner, mode and times of `like`, syncs it, gives it its name, and syncs that.
    ///
    /// # Errors
    /// The file cannot be synced or renamed; there is a file of that name, and it stays.
    pub fn keep(mut self, file: &File, like: Option<&Metadata>, existing: Existing) -> io::Result<()> {
        if let Some(like) = like {
            copy_facts(file, like)?;
        }
        file.sync_all()?;
        match existing {
            Existing::Replaced => fs_err::rename(&self.temporary, &self.path)?,
            Existing::Stays => rename_if_free(&self.temporary, &self.path)?,
        }
        self.kept = true;
        sync_directory(&self.path)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.kept {
            // It may be gone already, and there is nobody to tell.
            let _ = fs_err::remove_file(&self.temporary);
        }
    }
}

/// The beginning of a name, so that a longer one is not too long for the file system.
fn shortened(name: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = name.as_bytes();
    OsString::from_vec(bytes[..bytes.len().min(200)].to_vec())
}

/// Owner, mode and times, as far as this user may set them.
fn copy_facts(file: &File, like: &Metadata) -> io::Result<()> {
    let owner = fchown(file, Some(Uid::from_raw(like.uid())), Some(Gid::from_raw(like.gid())));
    let mut mode = like.mode() & 0o7777;
    if owner.is_err() {
        // Rights of another user's file are not for this user's group, and never set-user-ID.
        let group = fchown(file, None, Some(Gid::from_raw(like.gid())));
        mode &= if group.is_ok() { 0o777 } else { 0o707 };
    }
    fchmod(file, Mode::from_raw_mode(mode))?;
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    futimens(
        file,
        &Timestamps {
            last_access: time(like.atime(), like.atime_nsec()),
            last_modification: time(like.mtime(), like.mtime_nsec()),
        },
    )?;
    Ok(())
}

fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    match renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
        // A file system that cannot: the name was free when it was looked at before.
        Err(Errno::INVAL | Errno::NOSYS) if !exists(to) => fs_err::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS | Errno::EXIST) => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("`{}` exists already", to.display())))
        }
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
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // A directory that may be written but not read cannot be opened.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// The name of `path` compressed: with the format's ending after it.
pub fn compressed_name(path: &Path, format: Format) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(format.suffix());
    PathBuf::from(name)
}

/// Endings of compressed files, and what is left of them.
const ENDINGS: [(&str, &str); 8] =
    [("zst", ""), ("zstd", ""), ("lz4", ""), ("gz", ""), ("bgz", ""), ("tzst", "tar"), ("tlz4", "tar"), ("tgz", "tar")];

/// Whether the name ends as those of compressed files do.
pub fn is_compressed_name(path: &Path) -> bool {
    decompressed_name(path).is_some()
}

/// The name of `path` decompressed; `None` if its ending is none of those known.
pub fn decompressed_name(path: &Path) -> Option<PathBuf> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let (_, instead) = ENDINGS.iter().find(|(known, _)| *known == ending)?;
    Some(path.with_extension(instead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_by_the_stock_tools() {
        assert_eq!(compressed_name(Path::new("a/b.tar"), Format::Zst), Path::new("a/b.tar.zst"));
        for (compressed, plain) in
            [("a.tar.zst", "a.tar"), ("x/a.tgz", "x/a.tar"), ("a.LZ4", "a"), ("a.b.gz", "a.b"), ("a.tzst", "a.tar")]
        {
            assert_eq!(decompressed_name(Path::new(compressed)), Some(PathBuf::from(plain)), "{compressed}");
        }
        for other in ["a", "zst", ".gz", "a.bz2", "a.zst/b"] {
            assert_eq!(decompressed_name(Path::new(other)), None, "{other}");
        }
    }

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
        let (making, file) = Making::begin(&path, 0o666).expect("begins");
        let error = making.keep(&file, None, Existing::Stays).expect_err("exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs_err::read_to_string(&path).expect("read"), "old");
        let (making, file) = Making::begin(&path, 0o666).expect("begins");
        making.keep(&file, None, Existing::Replaced).expect("replaced");
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
        let (making, file) = Making::begin(&new, 0o600).expect("begins");
        making.keep(&file, Some(&like), Existing::Stays).expect("kept");
        let made = fs_err::metadata(&new).expect("facts");
        assert_eq!((made.mode(), made.uid(), made.gid()), (like.mode(), like.uid(), like.gid()));
        assert_eq!((made.mtime(), made.mtime_nsec()), (1_000_000_000, 123_456_789));
    }
}
