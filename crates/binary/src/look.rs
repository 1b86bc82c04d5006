//! A file on a machine: what it records, and its libraries, its allocator and its package there.

use fenxi_procfs::Root;
use serde::Serialize;

use crate::{Allocator, Binary, Depth, Error, Library, Loader, Owner, allocator, owners, resolve};

/// The largest file without a build-id whose content is summed up.
const LARGEST: u64 = 256 << 20;

/// A file and what serves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Looked {
    /// The file.
    pub path: String,
    /// The process, if one was asked for.
    pub pid: Option<u32>,
    /// Its BLAKE3 checksum, where it has no build-id.
    pub content: Option<String>,
    /// Metadata; None for a file that is not ELF, such as a script.
    pub binary: Option<Binary>,
    /// Libraries in the order in which symbols are looked up.
    pub libraries: Vec<Library>,
    /// Who serves `malloc`.
    pub allocator: Option<Allocator>,
    /// Its package.
    pub package: Option<Owner>,
    /// Libraries that the environment asks for.
    pub preload: Vec<crate::Preload>,
    /// Notes on parts that could not be read.
    pub notes: Vec<String>,
}

/// Looks at a file, with the environment that its process would have.
///
/// # Errors
/// As [`Binary::read`].
pub fn look(root: &Root, path: &str, environment: (&str, &str), depth: Depth) -> Result<Looked, Error> {
    let mut binary = resolve::read(root, path, depth)?;
    let (library_path, preload) = environment;
    let preload: Vec<String> = words(preload);
    let libraries = Loader::new(root, library_path).libraries(&binary, path, &preload);
    if depth == Depth::Whole {
        of_debug_file(root, &mut binary);
    }
    let is_loaded = |name: &String| libraries.iter().any(|library| library.name == *name && library.path.is_some());
    let preload =
        preload.iter().map(|name| crate::Preload { name: name.clone(), is_loaded: is_loaded(name) }).collect();
    let mut looked = Looked { path: path.to_owned(), libraries, preload, ..Looked::default() };
    looked.finish(root, binary);
    Ok(looked)
}

/// Elements of `LD_PRELOAD`.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split([':', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Adds compilers and LTO by the debug file that is installed beside a stripped program.
fn of_debug_file(root: &Root, binary: &mut Binary) {
    let Some((folder, name)) = binary.build_id.as_deref().and_then(|id| id.split_at_checked(2)) else { return };
    if binary.debug == "DWARF" {
        return;
    }
    let path = format!("/usr/lib/debug/.build-id/{folder}/{name}.debug");
    let Ok(debug) = resolve::read(root, &path, Depth::Whole) else { return };
    binary.compilers.splice(0..0, debug.compilers.into_iter().filter(|compiler| compiler.from == "DWARF"));
    binary.lto = binary.lto.or(debug.lto);
}

impl Looked {
    /// Adds what follows from the file and its libraries.
    pub(crate) fn finish(&mut self, root: &Root, binary: Binary) {
        self.allocator = serves(&binary, &self.path, &self.libraries);
        self.package = owners(root, &[&self.path]).pop().flatten();
        if binary.build_id.is_none() {
            self.content = content(root, &self.path);
        }
        self.notes.extend(binary.notes.iter().cloned());
        self.binary = Some(binary);
    }

    /// A file that is no ELF file: a script, which is the same if its content is.
    pub fn other(root: &Root, path: &str) -> Looked {
        let package = owners(root, &[path]).pop().flatten();
        Looked { path: path.to_owned(), content: content(root, path), package, ..Looked::default() }
    }
}

fn content(root: &Root, path: &str) -> Option<String> {
    let file = fs_err::File::from_parts(root.open_file(path).ok()?.into(), path);
    let length = file.metadata().ok()?.len();
    let mut hasher = blake3::Hasher::new();
    (length <= LARGEST).then_some(())?;
    hasher.update_reader(file).ok()?;
    Some(hasher.finalize().to_hex()[..32].to_owned())
}

/// Who serves `malloc`: the first in the order of lookup that defines it.
fn serves(program: &Binary, path: &str, libraries: &[Library]) -> Option<Allocator> {
    let of = |binary: &Binary, file: &str| Allocator {
        name: allocator::named(&binary.allocators, binary.soname.as_deref(), file),
        file: file.to_owned(),
    };
    if program.compilers.iter().any(|compiler| compiler.from == "build info") {
        return Some(Allocator { name: "Go runtime".to_owned(), file: path.to_owned() });
    }
    if program.defines_malloc {
        return Some(of(program, path));
    }
    let mut found = libraries.iter().filter_map(|library| Some((library.binary.as_ref()?, library.path.as_deref()?)));
    found.find(|(binary, _)| binary.defines_malloc).map(|(binary, path)| of(binary, path))
}
