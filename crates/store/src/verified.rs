//! `cache/verified`: which files passed checksum verification, and when, shared between processes.
//!
//! Its first line is the BLAKE3 of the rest; a line each for a file: its stamp, when it was compared, its path.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use rustc_hash::FxHashMap;

use crate::{
    Store,
    locks::Keeps,
    stamp::{Stamp, now_ns},
};

/// How long a comparison is believed by others: what the disk does to a file changes none of its times.
const DAY_NS: i128 = 86_400_000_000_000;

/// Files that were compared, by path within the store.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    root: PathBuf,
    known: FxHashMap<String, (Stamp, i128)>,
}

impl Verified {
    fn path(store: &Store) -> PathBuf {
        store.path().join("cache/verified")
    }

    /// The comparisons written down and not too old; none where they cannot be believed.
    pub(crate) fn load(store: &Store) -> Verified {
        let text = store.read_own(&Verified::path(store)).unwrap_or_default();
        let now_ns = now_ns();
        let mut known = FxHashMap::default();
        for line in body(&text).unwrap_or_default().lines() {
            let Some((path, stamp, at)) = entry(line) else { continue };
            // A clock that was set back makes a comparison of the future.
            if (0..DAY_NS).contains(&(now_ns - at)) {
                known.insert(path.to_owned(), (stamp, at));
            }
        }
        Verified { root: store.path().to_owned(), known }
    }

    /// Whether the file at `path`, as it is, was compared.
    pub(crate) fn vouches(&self, path: &Path, stamp: Stamp) -> bool {
        let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        name.and_then(|name| self.known.get(name)).is_some_and(|(known, _)| *known == stamp)
    }

    /// Writes down more; a store that cannot be written is read all the same, only slower.
    pub(crate) fn add(store: &Store, more: &[(PathBuf, Stamp)], at_ns: i128) {
        if more.is_empty() || store.make_dir("cache").is_err() {
            return;
        }
        let mut all = Verified::load(store);
        for (path, stamp) in more {
            let name = path.strip_prefix(&all.root).ok().and_then(Path::to_str);
            if let Some(name) = name.filter(|name| !name.contains('\n')) {
                all.known.insert(name.to_owned(), (*stamp, at_ns));
            }
        }
        let _ = store.replace(&Verified::path(store), &all.text(), Keeps::Cached);
    }

    fn text(&self) -> Vec<u8> {
        let mut lines: Vec<_> = self.known.iter().collect();
        lines.sort_by_key(|(path, _)| *path);
        let mut text = String::new();
        for (path, (s, at)) in lines {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} {} {} {} {} {at} {path}", s.dev, s.ino, s.size, s.mtime_ns, s.ctime_ns);
        }
        sealed(&text)
    }
}

/// A text behind a line with its checksum.
pub(crate) fn sealed(text: &str) -> Vec<u8> {
    let mut all = Vec::with_capacity(text.len() + 65);
    all.extend_from_slice(blake3::hash(text.as_bytes()).to_hex().as_bytes());
    all.push(b'\n');
    all.extend_from_slice(text.as_bytes());
    all
}

/// The content after the line with the checksum, if that fits.
pub(crate) fn body(sealed: &[u8]) -> Option<&str> {
    let (digest, rest) = sealed.split_at_checked(64)?;
    let rest = rest.strip_prefix(b"\n")?;
    let fits = blake3::hash(rest).to_hex().as_bytes() == digest;
    fits.then(|| std::str::from_utf8(rest).ok()).flatten()
}

fn entry(line: &str) -> Option<(&str, Stamp, i128)> {
    let mut words = line.splitn(7, ' ');
    let (dev, ino, size) = (words.next()?, words.next()?, words.next()?);
    let (mtime, ctime, at) = (words.next()?, words.next()?, words.next()?);
    let stamp = Stamp {
        dev: dev.parse().ok()?,
        ino: ino.parse().ok()?,
        size: size.parse().ok()?,
        mtime_ns: mtime.parse().ok()?,
        ctime_ns: ctime.parse().ok()?,
    };
    Some((words.next()?, stamp, at.parse().ok()?))
}
