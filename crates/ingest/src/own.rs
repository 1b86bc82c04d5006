//! Formats that a store brings, read in the caller's thread: the files in its folder `formats`, each a format's description in TOML, or a program.
//!
//! A file that cannot be used is reported once and blocks no other. Programs are run for what their user imports only,
//! never for what others send.

mod confine;
mod program;
mod refused;
mod running;
#[cfg(test)]
mod tests;
mod usage;

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    sync::Arc,
};

use fenxi_formats::{Formats, OwnFormat, TextFormat, wrong_name};
use fenxi_store::Store;
use fs_err as fs;

use program::Program;
pub use running::Limits;

/// The folder of a store that has them.
const FOLDER: &str = "formats";
/// The longest program that is a format's.
const MOST_PROGRAM_BYTES: u64 = 256 << 20;
/// The longest description, and then some: what is longer is reported by the reader.
const MOST_TEXT_BYTES: u64 = 2 << 20;

/// Permission to run programs among a store's formats.
#[derive(Clone)]
pub enum Programs {
    /// They may, within limits, until `stopped` is set because no caller waits any more.
    Run {
        /// Whether the user has asked to stop.
        stopped: Arc<dyn Fn() -> bool + Send + Sync>,
        /// Limits of their resources.
        limits: Limits,
    },
    /// They may not: the text to read comes from somebody else.
    Never,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Programs::Run { limits, .. } => write!(f, "Run({limits:?})"),
            Programs::Never => f.write_str("Never"),
        }
    }
}

/// A store's formats, beside the shipped ones.
#[derive(Debug, Default)]
pub struct OwnFormats {
    /// All that can be used.
    pub formats: Formats,
    /// Errors of files that could not be read.
    pub wrong: Vec<String>,
}

/// Reads the formats of a store; without a folder of them there are none.
pub fn own_formats(store: &Store, programs: &Programs) -> OwnFormats {
    let folder = store.path().join(FOLDER);
    let mut own: Vec<Arc<dyn OwnFormat>> = Vec::new();
    let mut wrong = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return OwnFormats::default(),
        Err(error) => return OwnFormats { wrong: vec![error.to_string()], ..OwnFormats::default() },
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for file in names {
        let Some(file) = file.to_str().filter(|file| !file.starts_with('.') && !file.ends_with('~')) else { continue };
        match one(store, &folder, file, programs) {
            Ok(None) => {}
            Ok(Some(format)) if own.iter().any(|other| other.about().name == format.about().name) => {
                wrong.push(format!(
                    "{FOLDER}/{file}: there is another format called `{}`; rename one of them",
                    format.about().name
                ));
            }
            Ok(Some(format)) => own.push(format),
            Err(why) => wrong.push(why),
        }
    }
    OwnFormats { formats: Formats::with(own), wrong }
}

/// The format of one file; None of one that must not be run here.
fn one(store: &Store, folder: &Path, file: &str, programs: &Programs) -> Result<Option<Arc<dyn OwnFormat>>, String> {
    let path = folder.join(file);
    let shown = format!("{FOLDER}/{file}");
    let wrong = |why: &dyn std::fmt::Display| format!("{shown}: {why}");
    let meta = fs::metadata(&path).map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err(wrong(&"it is no file; a format is a file NAME.toml, or a program NAME"));
    }
    if let Some(name) = file.strip_suffix(".toml") {
        if meta.len() > MOST_TEXT_BYTES {
            return Err(wrong(&"it is too long for a format's description"));
        }
        let text = store.read_text(&path).map_err(|error| error.to_string())?;
        let digest = blake3::hash(text.as_bytes()).to_hex();
        let format = TextFormat::parse(name, &shown, &text, &digest).map_err(|error| error.to_string())?;
        return Ok(Some(Arc::new(format)));
    }
    if meta.permissions().mode() & 0o111 == 0 {
        return Err(wrong(&"it is neither NAME.toml nor a program; `chmod +x` makes a script one"));
    }
    if let Some(why) = wrong_name(file) {
        return Err(wrong(&why));
    }
    let Programs::Run { stopped, limits } = programs else { return Ok(None) };
    if fs::symlink_metadata(&path).map_err(|error| error.to_string())?.is_symlink() {
        return Err(wrong(&"it is not run, as it is a link; copy the program"));
    }
    // A user who can change it can run any code as the user who imports.
    for path in [path.as_path(), folder, store.path()] {
        let meta = fs::metadata(path).map_err(|error| error.to_string())?;
        let owner = meta.uid();
        if owner != rustix::process::geteuid().as_raw() && owner != 0 || meta.mode() & 0o022 != 0 {
            return Err(wrong(&format!(
                "it is not run, as others may change it: {} has to be yours and writable for you alone",
                path.display()
            )));
        }
    }
    if meta.len() > MOST_PROGRAM_BYTES {
        return Err(wrong(&"it is too long for a program"));
    }
    let bytes = fs::read(&path).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(Program::new(file, &shown, &path, &bytes, Arc::clone(stopped), limits.clone()))))
}
