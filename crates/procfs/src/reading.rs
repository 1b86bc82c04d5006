//! How files of others are opened and read: the file at a path need not be of the expected kind.
//!
//! A pipe must not hold us, a device must not be touched, and neither `/dev/zero` nor a file of gigabytes may fill the
//! memory: so only regular files are read, and no more of them than [`LIMIT`]. In a saved copy of /proc and /sys, links
//! lead nowhere but into the copy.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};

/// More than any file of /proc or /sys that is read has: 512 CPUs with 2,000 interrupts take 11 MB.
pub const LIMIT: usize = 16 << 20;
/// The same for the one file that can be longer: the mappings of a process.
pub const LONG_LIMIT: usize = 64 << 20;

/// The same for programs and libraries of others.
pub const PROGRAM_LIMIT: usize = 1 << 30;

/// Links on the way to one file, after which it is a circle; as many as the kernel follows.
const MAX_LINKS: usize = 40;

/// Nothing that is opened so is waited for, becomes our terminal, or is left to programs that we start.
const CAREFUL: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens the file at `path`, if it is a regular one.
///
/// # Errors
/// It cannot be opened, or is something else; the text names it.
pub fn open_regular(path: &Path) -> io::Result<OwnedFd> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot open {}: {error}", path.display()));
    let file = rustix::fs::openat(CWD, path, CAREFUL, Mode::empty()).map_err(|e| named(e.into()))?;
    only_regular(&file).map_err(named)?;
    Ok(file)
}

/// Opens the file at `path`, if it is a regular one and no link to one.
///
/// # Errors
/// As [`open_regular`].
pub fn open_itself(path: &Path) -> io::Result<OwnedFd> {
    let file = rustix::fs::openat(CWD, path, CAREFUL | OFlags::NOFOLLOW, Mode::empty())?;
    only_regular(&file)?;
    Ok(file)
}

/// The content of the regular file at `path`, of at most `limit` bytes.
///
/// # Errors
/// It cannot be read, is something else, or is longer; the text names it.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    whole(&file, limit).map_err(|e| io::Error::new(e.kind(), format!("cannot read {}: {e}", path.display())))
}

/// The same as text; what is no UTF-8 in it is replaced.
///
/// # Errors
/// As [`read`].
pub fn text(path: impl AsRef<Path>, limit: usize) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read(path.as_ref(), limit)?).into_owned())
}

/// The content of an open file, of at most `limit` bytes.
///
/// # Errors
/// It cannot be read, or is longer.
pub fn whole(file: impl AsFd, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let len = fill(file, &mut bytes, limit)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads a file from its beginning to its end into `bytes`, which grow as needed and never shrink, and returns how long it
/// is.
///
/// # Errors
/// It cannot be read, or has more than `limit` bytes.
pub fn fill(file: impl AsFd, bytes: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
    let mut len = 0;
    loop {
        if len > limit {
            *bytes = Vec::new();
            let text = format!("it has more than {} MiB, as no such file has", limit >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        if len == bytes.len() {
            bytes.resize((len * 2).clamp(4096, limit.max(4095) + 1), 0);
        }
        // Files of /proc are made anew at offset 0; a short read does not mean the end.
        let n = rustix::io::pread(&file, &mut bytes[len..], len as u64)?;
        if n == 0 {
            return Ok(len);
        }
        len += n;
    }
}

fn only_regular(file: impl AsFd) -> io::Result<()> {
    let what = match kind(file)? {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what} and no regular file")))
}

/// The type of an open file.
///
/// # Errors
/// The kernel's error.
pub fn kind(file: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

/// Names in an open folder, and which of them are folders.
///
/// # Errors
/// When it cannot be read.
pub fn names(folder: &OwnedFd) -> io::Result<Vec<(OsString, bool)>> {
    use std::os::unix::ffi::OsStringExt;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                kind = stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
            }
            names.push((OsString::from_vec(name.to_vec()), kind == FileType::Directory));
        }
    }
    Ok(names)
}

/// Opens a folder for reading.
///
/// # Errors
/// When it is none, or may not be read.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, CAREFUL | OFlags::DIRECTORY, Mode::empty())?)
}

/// An `O_PATH` descriptor of `path`, without opening it.
///
/// # Errors
/// When there is none, or it may not be looked at.
pub fn place(path: &Path, last: Last) -> io::Result<OwnedFd> {
    let flags = if last == Last::Itself { PLACE | OFlags::NOFOLLOW } else { PLACE };
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// Opens what is at `path` below `root`, for which `root` is `/`: absolute links begin there, and `..` ends there.
/// Nothing is opened on the way that could be waited for.
///
/// # Errors
/// There is none, or it may not be looked at.
pub fn place_below(root: BorrowedFd<'_>, path: &Path, last: Last) -> io::Result<OwnedFd> {
    let flags = if last == Last::Itself { PLACE | OFlags::NOFOLLOW } else { PLACE };
    let how = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, path, flags, Mode::empty(), how) {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, path, last),
        // Something was renamed meanwhile; the kernel does not say what.
        Err(Errno::AGAIN) => step_by_step(root, path, last),
        other => Ok(other?),
    }
}

/// Treatment of a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// To what it leads to.
    Followed,
    /// It is meant itself.
    Itself,
}

/// The same without the kernel's help: every folder on the way is held open, so that `..` is what we came through.
fn step_by_step(root: BorrowedFd<'_>, path: &Path, last: Last) -> io::Result<OwnedFd> {
    let mut steps = steps_of(path);
    let mut held: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        if step == ".." {
            held.pop();
            continue;
        }
        let here = held.last().map_or(root, AsFd::as_fd);
        let there = rustix::fs::openat(here, &step, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        let is_link = kind(&there)? == FileType::Symlink;
        if is_link && !(steps.is_empty() && last == Last::Itself) {
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP.into());
            }
            let to = target_of(&there)?;
            if to.is_absolute() {
                held.clear();
            }
            let mut first = steps_of(&to);
            first.append(&mut steps);
            steps = first;
            continue;
        }
        held.push(there);
    }
    match held.pop() {
        Some(place) => Ok(place),
        None => Ok(root.try_clone_to_owned()?),
    }
}

fn steps_of(path: &Path) -> VecDeque<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(step).collect()
}

/// Where the link that was opened itself leads to.
///
/// # Errors
/// It is none.
pub fn target_of(link: &OwnedFd) -> io::Result<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let target = rustix::fs::readlinkat(link, "", Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

/// Opens for reading what is at `path` below `root`, if it is a regular file.
///
/// # Errors
/// As [`place_below`], and when it is something else.
pub fn open_regular_below(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let place = place_below(root, path, Last::Followed)?;
    // Before it is opened: a device may do something then.
    only_regular(&place)?;
    reopen(&place, CAREFUL)
}

/// Opens for reading the folder at `path` below `root`.
///
/// # Errors
/// As [`place_below`], and when it is no folder.
pub fn open_folder_below(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let place = place_below(root, path, Last::Followed)?;
    Ok(rustix::fs::openat(&place, ".", CAREFUL | OFlags::DIRECTORY, Mode::empty())?)
}

/// Opens in another way what is open as a place.
fn reopen(place: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use fs_err::os::unix::fs::symlink;

    use super::*;

    /// The result of both ways for a path: the content, or the kind of the error.
    fn both(folder: &Path, path: &str) -> Result<String, io::ErrorKind> {
        let root = rustix::fs::open(folder, PLACE, Mode::empty()).unwrap();
        let content = |place: io::Result<OwnedFd>| -> Result<String, io::ErrorKind> {
            let place = place.map_err(|e| e.kind())?;
            only_regular(&place).map_err(|e| e.kind())?;
            let bytes = whole(reopen(&place, CAREFUL).unwrap(), LIMIT).map_err(|e| e.kind())?;
            Ok(String::from_utf8(bytes).unwrap())
        };
        let path = Path::new(path);
        let by_hand = content(step_by_step(root.as_fd(), path, Last::Followed));
        assert_eq!(content(place_below(root.as_fd(), path, Last::Followed)), by_hand, "{}", path.display());
        by_hand
    }

    #[test]
    fn no_link_leads_out_of_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs_err::create_dir_all(root.join("a/b")).unwrap();
        fs_err::write(dir.path().join("secret"), "outside").unwrap();
        fs_err::write(root.join("secret"), "inside").unwrap();
        fs_err::write(root.join("a/b/file"), "file").unwrap();
        let outside = dir.path().join("secret");
        for (name, target) in [
            ("up", Path::new("../../../../secret")),
            ("absolute", Path::new("/secret")),
            ("out", outside.as_path()),
            ("circle", Path::new("circle")),
            ("into", Path::new("a/b")),
            ("a/back", Path::new("../into/../b/file")),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        let is = |text: &str| Ok(text.to_owned());
        assert_eq!(both(&root, "a/b/file"), is("file"));
        assert_eq!(both(&root, "into/file"), is("file"));
        assert_eq!(both(&root, "a/back"), is("file"));
        for path in ["up", "absolute", "../../secret", "into/../../../secret", "a/../../secret"] {
            assert_eq!(both(&root, path), is("inside"), "{path}");
        }
        assert_eq!(both(&root, "out"), Err(io::ErrorKind::NotFound));
        assert_eq!(both(&root, "missing"), Err(io::ErrorKind::NotFound));
        assert_eq!(both(&root, "a/b/file/x"), Err(io::ErrorKind::NotADirectory));
        assert_eq!(both(&root, "a"), Err(io::ErrorKind::IsADirectory));
        assert!(both(&root, "circle").is_err());
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for (path, what) in [(pipe.as_path(), "a pipe"), (Path::new("/dev/zero"), "a device")] {
            let error = read(path, LIMIT).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains(&path.display().to_string()), "{error}");
        }
        assert!(read(dir.path(), LIMIT).is_err());
        let root = rustix::fs::open(dir.path(), PLACE, Mode::empty()).unwrap();
        assert!(open_regular_below(root.as_fd(), Path::new("pipe")).is_err());
    }

    #[test]
    fn a_file_that_is_too_long_is_refused_and_one_that_fits_is_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = fs_err::File::create(&path).unwrap();
        for len in [0, 1, 4095, 4096, 4097, 8192, 10_000] {
            file.set_len(len).unwrap();
            assert_eq!(read(&path, 10_000).unwrap().len() as u64, len);
        }
        file.set_len(10_001).unwrap();
        assert!(read(&path, 10_000).is_err());
        file.set_len(3 << 30).unwrap();
        let error = read(&path, LIMIT).unwrap_err().to_string();
        assert!(error.contains("more than 16 MiB"), "{error}");
    }
}
