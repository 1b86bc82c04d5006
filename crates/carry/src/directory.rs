//! A directory as a place: a file system that several machines share, or a disk that is carried.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;

use crate::{CarryError, Place};

/// What a file is called until it is whole.
const PART: &str = ".part";

/// A directory.
pub(crate) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(crate) fn new(path: PathBuf) -> Directory {
        Directory { path }
    }

    fn shown(&self, name: &str, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), CarryError> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut part = path.clone().into_os_string();
        part.push(PART);
        let part = PathBuf::from(part);
        write(&part)?;
        fs::File::open(&part)?.sync_all()?;
        Ok(fs::rename(&part, &path)?)
    }
}

fn walk(dir: &Path, within: &str, prefix: &str, found: &mut BTreeMap<String, u64>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            let inside = format!("{name}/");
            if inside.starts_with(prefix) || prefix.starts_with(&inside) {
                walk(&entry.path(), &inside, prefix, found)?;
            }
        } else if name.starts_with(prefix) && !name.ends_with(PART) {
            found.insert(name, entry.metadata()?.len());
        }
    }
    Ok(())
}

impl Place for Directory {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn list(&self, prefix: &str) -> Result<BTreeMap<String, u64>, CarryError> {
        let mut found = BTreeMap::new();
        walk(&self.path, "", prefix, &mut found)?;
        Ok(found)
    }

    fn put_file(&self, name: &str, path: &Path) -> Result<(), CarryError> {
        self.shown(name, |part| fs::copy(path, part).map(drop))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CarryError> {
        self.shown(name, |part| fs::write(part, bytes))
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CarryError> {
        match fs::read(self.path.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn get_file(&self, name: &str, path: &Path) -> Result<(), CarryError> {
        fs::copy(self.path.join(name), path)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), CarryError> {
        match fs::remove_file(self.path.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}
