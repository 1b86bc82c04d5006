//! Collects the inputs of an import: files, directories, standard input, or the kept inputs of a run. Runs in the caller's
//! thread, before the import.

use std::{
    io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use fenxi_model::Micros;
use fenxi_store::{RunEntry, Store, StoreError};
use fs_err as fs;

use crate::{
    archive::{UnpackBudget, members},
    host_of_tree::tell_hosts,
    source::{Content, Source, host_in},
};

/// The inputs at `path`: the file itself, every file below a directory in the order of their
/// names, or standard input for `-`. A tar or zip archive is unpacked like a directory, also one in a directory or in another
/// archive, as far as the `budget` allows.
///
/// # Errors
/// When it is not there, cannot be read, holds no file, or is a damaged archive or one too large.
pub fn collect(path: &Path, budget: &mut UnpackBudget<'_>) -> io::Result<Vec<Source>> {
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
        return expand(source(name, path.to_owned()), budget);
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
            unpacked_members(source, &within, budget)
        })
        .collect();
    let mut found: Vec<Source> = found?.into_iter().flatten().collect();
    tell_hosts(&mut found);
    Ok(found)
}

/// The members of an input that is an archive, as far as the `budget` allows; else the input itself.
///
/// # Errors
/// When it is a damaged archive, or one too large.
pub fn expand(source: Source, budget: &mut UnpackBudget<'_>) -> io::Result<Vec<Source>> {
    let mut members = unpacked_members(source, "", budget)?;
    tell_hosts(&mut members);
    Ok(members)
}

/// The members of an input that is an archive, each with `within` before its name; else the input itself.
fn unpacked_members(source: Source, within: &str, budget: &mut UnpackBudget<'_>) -> io::Result<Vec<Source>> {
    let Content::File(path) = &source.content else { return Ok(vec![source]) };
    // Bytes that a pipe has given are gone.
    if !path.is_file() {
        return Ok(vec![source]);
    }
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", source.name));
    let Some(mut members) = members(path, budget).map_err(named)? else { return Ok(vec![source]) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_walked_in_order() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        for name in ["b/2.txt", "a.txt", "b/1.log.h"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let found = collect(dir.path(), &mut UnpackBudget::until(&|| false)).unwrap();
        let names: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.host.as_deref())).collect();
        assert_eq!(names, [("a.txt", None), ("b/1.log.h", Some("h")), ("b/2.txt", None)]);
        assert!(found[0].modified.is_some());
        assert!(collect(&dir.path().join("none"), &mut UnpackBudget::until(&|| false)).is_err());
        assert!(collect(&dir.path().join("b/../c"), &mut UnpackBudget::until(&|| false)).is_err());
    }
}
