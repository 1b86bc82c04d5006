//! Inputs of an import: files, directories, standard input, or the kept inputs of a run.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use fenxi_model::Micros;
use fenxi_store::{Part, RunEntry, Store, StoreError};
use fs_err as fs;
use tempfile::TempDir;

use crate::{
    members::{Room, members},
    pack,
    trees::tell_hosts,
    unpack::unpacked,
};

/// One input to be imported.
#[derive(Debug)]
pub struct Source {
    /// Its name as summaries and notes give it; within a directory, the path below it.
    pub name: String,
    /// Where its bytes are.
    pub content: Content,
    /// The host that its name tells, or the tree that it is in, if any.
    pub host: Option<String>,
    /// When it was last written.
    pub modified: Option<Micros>,
}

/// Where an input's bytes are.
#[derive(Debug)]
pub enum Content {
    /// In a file, perhaps compressed.
    File(PathBuf),
    /// In a file that was unpacked from an archive, with the folder that goes with the last of them.
    Member {
        /// The file.
        path: PathBuf,
        /// The folder it is in.
        folder: Arc<TempDir>,
    },
    /// In a file that keeps several inputs of a run.
    Part {
        /// The file.
        path: PathBuf,
        /// Where the input begins.
        part: Part,
        /// Its length.
        bytes: u64,
    },
    /// In memory: a short member of an archive, which is not packed itself.
    Held(Arc<[u8]>),
    /// On standard input, of which this much was read.
    Stdin(Vec<u8>),
}

impl Content {
    /// Opens it. Standard input can be opened once.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Content::File(path) | Content::Member { path, .. } => Box::new(fs::File::open(path)?),
            Content::Part { path, part, bytes } => Box::new(pack::read(path, *part, *bytes)?),
            Content::Held(bytes) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            Content::Stdin(begun) => Box::new(io::Cursor::new(begun.clone()).chain(io::stdin())),
        })
    }

    /// Opens it and unpacks it, whatever it is packed with.
    ///
    /// # Errors
    /// When it cannot be opened or begins like something packed and is not.
    pub fn unpacked(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(unpacked(self.open()?)?.1)
    }

    /// Its size as it lies there, when it has one.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Content::File(path) | Content::Member { path, .. } => fs::metadata(path).ok().map(|m| m.len()),
            Content::Part { bytes, .. } => Some(*bytes),
            Content::Held(bytes) => Some(bytes.len() as u64),
            Content::Stdin(_) => None,
        }
    }
}

/// The inputs at `path`: the file itself, every file below a directory in the order of their
/// names, or standard input for `-`. A tar or zip archive is unpacked like a directory, also one in a directory or in another
/// archive, as far as there is `room`.
///
/// # Errors
/// When it is not there, cannot be read, holds no file, or is a damaged archive or one too large.
pub fn collect(path: &Path, room: &mut Room<'_>) -> io::Result<Vec<Source>> {
    if path.as_os_str() == "-" {
        return Ok(vec![Source {
            name: "stdin".to_owned(),
            content: Content::Stdin(Vec::new()),
            host: None,
            modified: None,
        }]);
    }
    if !fs::metadata(path)?.is_dir() {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        return expand(source(name, path.to_owned()), room);
    }
    let mut found = Vec::new();
    walk(path, "", &mut found)?;
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{}: no file in this directory", path.display())));
    }
    let found: io::Result<Vec<_>> = found
        .into_iter()
        .map(|source| {
            let within = format!("{}/", source.name);
            unpacked_members(source, &within, room)
        })
        .collect();
    let mut found: Vec<Source> = found?.into_iter().flatten().collect();
    tell_hosts(&mut found);
    Ok(found)
}

/// The members of an input that is an archive, as far as there is `room`; else the input itself.
///
/// # Errors
/// When it is a damaged archive, or one too large.
pub fn expand(source: Source, room: &mut Room<'_>) -> io::Result<Vec<Source>> {
    let mut members = unpacked_members(source, "", room)?;
    tell_hosts(&mut members);
    Ok(members)
}

/// The members of an input that is an archive, each with `within` before its name; else the input itself.
fn unpacked_members(source: Source, within: &str, room: &mut Room<'_>) -> io::Result<Vec<Source>> {
    let Content::File(path) = &source.content else { return Ok(vec![source]) };
    // What a pipe has given is gone.
    if !path.is_file() {
        return Ok(vec![source]);
    }
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", source.name));
    let Some(mut members) = members(path, room).map_err(named)? else { return Ok(vec![source]) };
    for member in &mut members {
        member.name.insert_str(0, within);
    }
    Ok(members)
}

/// Files below `dir`; links to directories are not followed, so that the walk ends.
fn walk(dir: &Path, within: &str, found: &mut Vec<Source>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(dir)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs_err::DirEntry::file_name);
    for entry in entries {
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), &format!("{name}/"), found)?;
        } else if fs::metadata(entry.path()).is_ok_and(|m| m.is_file()) {
            found.push(source(name, entry.path()));
        }
    }
    Ok(())
}

fn source(name: String, path: PathBuf) -> Source {
    let modified = fs::metadata(&path).ok().and_then(|m| m.modified().ok());
    let since = modified.and_then(|m| m.duration_since(UNIX_EPOCH).ok());
    Source {
        host: host_in(name.rsplit('/').next().unwrap_or(&name)),
        modified: since.map(|s| Micros(s.as_micros() as i64)),
        content: Content::File(path),
        name,
    }
}

/// The inputs that the run `entry` has kept, to be read again; each is compared with the manifest first.
///
/// # Errors
/// When one is not as it was kept.
pub fn kept(store: &Store, entry: &RunEntry) -> Result<Vec<Source>, StoreError> {
    let dir = store.run_dir(&entry.manifest.id);
    for input in &entry.manifest.inputs {
        store.check_file(&entry.manifest.id, &input.raw)?;
    }
    let sources = entry.manifest.inputs.iter().map(|input| Source {
        name: input.name.clone(),
        content: match (dir.join(&input.raw.name), input.part) {
            (path, Some(part)) => Content::Part { path, part, bytes: input.bytes },
            (path, None) => Content::File(path),
        },
        host: host_in(input.name.rsplit('/').next().unwrap_or(&input.name)),
        modified: input.modified,
    });
    let mut sources: Vec<Source> = sources.collect();
    tell_hosts(&mut sources);
    Ok(sources)
}

/// Endings that say what a file is, not where it comes from.
const ENDINGS: [&str; 22] = [
    "gz", "zst", "bz2", "xz", "z", "txt", "text", "log", "out", "err", "xan", "csv", "tsv", "json", "jsonl", "ndjson",
    "xml", "dat", "data", "nmon", "prom", "html",
];

/// The host in a name like `vmstat.log.db1` or `mpstat.xan.web-2.gz`: what follows an ending that
/// says what the file is.
pub(crate) fn host_in(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let known = |part: &str| ENDINGS.contains(&part.to_ascii_lowercase().as_str());
    let end = parts.iter().rposition(|part| !known(part))? + 1;
    let kind = parts[..end].iter().rposition(|part| known(part))?;
    let host = parts[kind + 1..end].join(".");
    // A number is the turn of a rotated log, or a date.
    let name_like = host.bytes().any(|b| b.is_ascii_alphabetic()) && !host.contains([' ', '~']);
    (kind > 0 && name_like).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_tell_the_host() {
        for (name, host) in [
            ("vmstat.log.db1", Some("db1")),
            ("mpstat.xan.web-2.gz", Some("web-2")),
            ("iostat.log.db1.example.com.zst", Some("db1.example.com")),
            ("vmstat.txt", None),
            ("syslog.log.1.gz", None),
            ("db1.log", None),
            ("sar.2026-11-21", None),
            ("log.db1", None),
        ] {
            assert_eq!(host_in(name).as_deref(), host, "{name}");
        }
    }

    #[test]
    fn a_directory_is_walked_in_order() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        for name in ["b/2.txt", "a.txt", "b/1.log.h"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let found = collect(dir.path(), &mut Room::until(&|| false)).unwrap();
        let names: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.host.as_deref())).collect();
        assert_eq!(names, [("a.txt", None), ("b/1.log.h", Some("h")), ("b/2.txt", None)]);
        assert!(found[0].modified.is_some());
        assert!(collect(&dir.path().join("none"), &mut Room::until(&|| false)).is_err());
        assert!(collect(&dir.path().join("b/../c"), &mut Room::until(&|| false)).is_err());
    }
}
