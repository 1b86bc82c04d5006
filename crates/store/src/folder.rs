//! Files below a folder that others may write to: a store that came from somewhere, or a directory that several share.
//!
//! Every step from the folder down is opened by itself and follows no link; what is read is a regular file of a bounded
//! length, and what is written gets a name that no one can foresee before it takes its place. So a link, a pipe or a device
//! that somebody puts there leads nothing out of the folder and holds nothing up: it is refused by name.

use std::{
    ffi::CStr,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Read},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use fs_err as fs;
use rustix::{
    fs::{self as sys, AtFlags, CWD, Dir, FileType, Mode, OFlags},
    io::Errno,
};

/// How folders are opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// How files are opened: a pipe without a writer answers at once, and a terminal does not become ours.
const PLAIN: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// Suffix of a file that is still being written.
pub const PART: &str = ".part";

/// A folder that was opened. Names are paths within it, with `/` between their parts, none of which is `.` or `..`.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// Entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the folder.
    pub name: String,
    /// Type of the file.
    pub kind: FileType,
    /// Bytes of a file.
    pub bytes: u64,
    /// Seconds since 1970 of its last change.
    pub changed_s: i64,
}

impl Folder {
    /// Opens the folder at `path`. Links in that path are followed: it is the one that was asked for.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Folder> {
        let path = path.as_ref().to_owned();
        let fd = sys::openat(CWD, &path, FOLDER, Mode::empty()).map_err(|e| failed(&path, e))?;
        Ok(Folder { fd, path })
    }

    /// The folder `name` below this one.
    ///
    /// # Errors
    /// When there is none, or a part of its name is a link or no folder.
    pub fn below(&self, name: &str) -> io::Result<Folder> {
        self.walk(name, Folder::step)
    }

    /// The folder `name` below this one, made with `mode` where it is not there, with those above it.
    ///
    /// # Errors
    /// As [`Folder::below`], and when it cannot be made.
    pub fn make(&self, name: &str, mode: u32) -> io::Result<Folder> {
        self.walk(name, |at, part| match at.step(part) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                match sys::mkdirat(&at.fd, part, Mode::from_raw_mode(mode)) {
                    Ok(()) | Err(Errno::EXIST) => at.step(part),
                    Err(e) => Err(failed(&at.path.join(part), e)),
                }
            }
            found => found,
        })
    }

    /// A folder of that name, which is new.
    ///
    /// # Errors
    /// When there is anything of that name, or it cannot be made.
    pub fn make_new(&self, name: &str, mode: u32) -> io::Result<Folder> {
        let (at, last) = self.reach(name)?;
        sys::mkdirat(&at.fd, last, Mode::from_raw_mode(mode)).map_err(|e| failed(&at.path.join(last), e))?;
        at.step(last)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// When there is none, or it is anything but a regular file.
    pub fn file(&self, name: &str) -> io::Result<fs::File> {
        self.regular(name, OFlags::RDONLY, 0)
    }

    /// Reads a file of at most so many bytes.
    ///
    /// # Errors
    /// As [`Folder::file`], and when it is longer.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        read_at_most(&mut self.file(name)?, most)
    }

    /// Opens a file to read it and to write at its end; an empty one is made where there is none.
    ///
    /// # Errors
    /// As [`Folder::file`], and when it cannot be written.
    pub fn append(&self, name: &str, mode: u32) -> io::Result<fs::File> {
        let flags = OFlags::RDWR | OFlags::APPEND;
        loop {
            match self.regular(name, flags, 0) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => match self.create(name, mode) {
                    // Another process has made it meanwhile.
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                    made => return made,
                },
                opened => return opened,
            }
        }
    }

    /// Makes a file that is new.
    ///
    /// # Errors
    /// When there is anything of that name, a link among it, or it cannot be made.
    pub fn create(&self, name: &str, mode: u32) -> io::Result<fs::File> {
        self.regular(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode)
    }

    /// Puts a file there, whole or not at all, in place of whatever had that name: `write` fills it, and it is durable
    /// before the call returns. Folders that it lies in must be there.
    ///
    /// # Errors
    /// Those of `write`, and when it cannot be made; nothing is left of it then.
    pub fn put(&self, name: &str, mode: u32, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> io::Result<()> {
        let (at, last) = self.reach(name)?;
        let part = format!(".{:016x}{PART}", random());
        let mut file = at.create(&part, mode)?;
        let done = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| at.rename(&part, &at, last));
        if done.is_err() {
            // A part that cannot be removed has a name that no one takes for a file of the store.
            let _ = at.remove(&part);
        }
        done.and_then(|()| at.sync())
    }

    /// Gives what is called `name` here the name `new` in the folder `to`, in place of what had it. No link is followed.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn rename(&self, name: &str, to: &Folder, new: &str) -> io::Result<()> {
        let ((from, last), (to, new)) = (self.reach(name)?, to.reach(new)?);
        sys::renameat(&from.fd, last, &to.fd, new).map_err(|e| failed(&to.path.join(new), e))
    }

    /// Removes a file, or a link itself; whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let (at, last) = match self.reach(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            reached => reached?,
        };
        match sys::unlinkat(&at.fd, last, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(failed(&at.path.join(last), e)),
        }
    }

    /// Makes the names in it durable.
    ///
    /// # Errors
    /// When the disk cannot.
    pub fn sync(&self) -> io::Result<()> {
        sys::fsync(&self.fd).map_err(|e| failed(&self.path, e))
    }

    /// Entries in no order. Names that are not UTF-8 are skipped: none of ours is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(|e| failed(&self.path, e))? {
            let entry = entry.map_err(|e| failed(&self.path, e))?;
            let Some(name) = CStr::to_str(entry.file_name()).ok().filter(|name| !matches!(*name, "." | "..")) else {
                continue;
            };
            // Gone since it was listed.
            let Ok(stat) = sys::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            entries.push(Entry { name: name.to_owned(), kind, bytes, changed_s: stat.st_mtime });
        }
        Ok(entries)
    }

    /// An error with its name where `name` is a link.
    ///
    /// # Errors
    /// Where it is one.
    pub fn not_a_link(&self, name: &str) -> io::Result<()> {
        match sys::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                Err(refused(&self.path.join(name), FileType::Symlink, "a folder or a file"))
            }
            _ => Ok(()),
        }
    }

    fn walk(&self, name: &str, step: impl Fn(&Folder, &str) -> io::Result<Folder>) -> io::Result<Folder> {
        let mut at = Folder { fd: self.fd.try_clone()?, path: self.path.clone() };
        for part in name.split('/').filter(|_| !name.is_empty()) {
            at = step(&at, self.plain(part)?)?;
        }
        Ok(at)
    }

    /// The folder in which `name` lies, and the last part of the name.
    fn reach<'n>(&self, name: &'n str) -> io::Result<(Folder, &'n str)> {
        let (folders, last) = name.rsplit_once('/').unwrap_or(("", name));
        Ok((self.below(folders)?, self.plain(last)?))
    }

    /// One part of a name, if it leads nowhere else.
    fn plain<'n>(&self, part: &'n str) -> io::Result<&'n str> {
        if matches!(part, "" | "." | "..") || part.contains(['/', '\0']) {
            let why = format!("{}: a name with {part:?} in it leads out of the folder", self.path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(part)
    }

    fn step(&self, part: &str) -> io::Result<Folder> {
        let fd = sys::openat(&self.fd, part, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let path = self.path.join(part);
        match fd {
            Ok(fd) => Ok(Folder { fd, path }),
            Err(e) => Err(self.why(part, e, "a folder")),
        }
    }

    fn regular(&self, name: &str, flags: OFlags, mode: u32) -> io::Result<fs::File> {
        let (at, last) = self.reach(name)?;
        let fd = sys::openat(&at.fd, last, flags | PLAIN | OFlags::NOFOLLOW, Mode::from_raw_mode(mode))
            .map_err(|e| at.why(last, e, "a file"))?;
        of_file(fs::File::from_parts(fd.into(), at.path.join(last)))
    }

    /// The error when `part` cannot be opened.
    fn why(&self, part: &str, error: Errno, wanted: &str) -> io::Error {
        let path = self.path.join(part);
        let is_of_kind = matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO);
        match sys::statat(&self.fd, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if is_of_kind => refused(&path, FileType::from_raw_mode(stat.st_mode), wanted),
            _ => failed(&path, error),
        }
    }
}

/// Opens the regular file at `path`; links in that path are followed. A pipe or a device is refused at once.
///
/// # Errors
/// When there is none, or it is anything but a regular file.
pub fn open_regular(path: &Path) -> io::Result<fs::File> {
    let fd = sys::openat(CWD, path, OFlags::RDONLY | PLAIN, Mode::empty()).map_err(|e| failed(path, e))?;
    of_file(fs::File::from_parts(fd.into(), path))
}

/// Reads the regular file at `path`, of at most so many bytes.
///
/// # Errors
/// As [`open_regular`], and when it is longer.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_at_most(&mut open_regular(path)?, most)
}

/// The same of a text.
///
/// # Errors
/// As [`read_regular`], and when it is no UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text_of(path, read_regular(path, most)?)
}

/// Content read of `path`, as text.
pub(crate) fn text_of(path: &Path, bytes: Vec<u8>) -> io::Result<String> {
    let no_text = |e| io::Error::new(io::ErrorKind::InvalidData, format!("{}: it is no text: {e}", path.display()));
    String::from_utf8(bytes).map_err(no_text)
}

fn read_at_most(file: &mut fs::File, most: u64) -> io::Result<Vec<u8>> {
    let reported = file.metadata()?.len();
    let mut bytes = Vec::new();
    if reported <= most {
        Read::take(&mut *file, most + 1).read_to_end(&mut bytes)?;
    }
    let has = reported.max(bytes.len() as u64);
    if has <= most {
        return Ok(bytes);
    }
    let why = format!("{} has {has} bytes, and at most {most} are read of such a file", file.path().display());
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// The file, if it is a regular one.
fn of_file(file: fs::File) -> io::Result<fs::File> {
    let stat = sys::fstat(file.file())?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(file),
        kind => Err(refused(file.path(), kind, "a file")),
    }
}

fn failed(path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn refused(path: &Path, kind: FileType, wanted: &str) -> io::Error {
    let (path, is) = (path.display(), named(kind));
    let way_out = match kind {
        FileType::Symlink => "links are not followed here: remove it, or put what it leads to in its place".to_owned(),
        _ => format!("{wanted} is expected there: remove it"),
    };
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} is {is}, and {way_out}"))
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a folder",
        FileType::RegularFile => "a file",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something unknown",
    }
}

/// A number that others cannot foresee: the standard library's hash tables begin with one.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use fs_err::os::unix::fs::symlink;

    use super::*;

    fn text(error: io::Error) -> String {
        error.to_string()
    }

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("victim"), "precious").unwrap();
        symlink(&outside, inside.join("runs")).unwrap();
        symlink(outside.join("victim"), inside.join("file")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        let folder = Folder::open(&inside).unwrap();
        let link = "is a symbolic link, and links are not followed here";
        assert!(text(folder.below("runs").unwrap_err()).contains(link));
        assert!(text(folder.make("runs/a", 0o777).unwrap_err()).contains(link));
        assert!(text(folder.make("loop/a", 0o777).unwrap_err()).contains(link));
        assert!(text(folder.read("runs/victim", 100).unwrap_err()).contains(link));
        assert!(text(folder.read("file", 100).unwrap_err()).contains(link));
        assert!(text(folder.append("file", 0o666).unwrap_err()).contains(link));
        assert_eq!(folder.create("file", 0o666).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(text(folder.not_a_link("loop").unwrap_err()).contains("loop is a symbolic link"));
        for name in ["..", "../out/victim", "a/../../out/victim", "./a", "", "/etc/passwd", "a//b", "a\0b"] {
            assert!(
                text(folder.read(name, 100).unwrap_err()).contains("leads out of the folder") || name.starts_with('a'),
                "{name}"
            );
        }
        // A link gives way to what is put in its place; what it led to stays as it is.
        folder.put("file", 0o666, |file| io::Write::write_all(file, b"new")).unwrap();
        assert_eq!(folder.read("file", 100).unwrap(), b"new");
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(folder.remove("loop").unwrap() && !folder.remove("loop").unwrap());
    }

    #[test]
    fn what_is_no_file_is_refused_at_once_and_what_is_too_long_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        sys::mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        fs::write(dir.path().join("file"), "12345").unwrap();
        fs::File::create(dir.path().join("sparse")).unwrap().set_len(3 << 30).unwrap();
        assert!(text(folder.read("pipe", 100).unwrap_err()).contains("is a named pipe, and a file is expected"));
        assert!(text(open_regular(&dir.path().join("pipe")).unwrap_err()).contains("is a named pipe"));
        assert!(text(folder.read("folder", 100).unwrap_err()).contains("is a folder, and a file is expected"));
        assert!(text(folder.below("file").unwrap_err()).contains("is a file, and a folder is expected"));
        assert!(text(open_regular(Path::new("/dev/zero")).unwrap_err()).contains("is a device"));
        assert!(text(folder.read("file", 4).unwrap_err()).contains("has 5 bytes, and at most 4 are read"));
        assert!(text(folder.read("sparse", 1 << 20).unwrap_err()).contains("has 3221225472 bytes"));
        assert_eq!(folder.read("file", 5).unwrap(), b"12345");
        assert_eq!(folder.read("none", 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn nothing_is_left_of_a_file_that_was_not_finished() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let failed = folder.put("a", 0o666, |_| Err(io::Error::other("the source ended")));
        assert_eq!(failed.unwrap_err().to_string(), "the source ended");
        assert!(folder.entries().unwrap().is_empty());
    }
}
