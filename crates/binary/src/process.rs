//! Libraries that a process really has loaded, and those that its environment asked for.

use fenxi_procfs::{Processes, Root};
use fs_err::File;
use object::ReadCache;
use serde::Serialize;

use crate::{Binary, Depth, Error, Library, Looked, look::words, resolve};

/// A library that the environment or `/etc/ld.so.preload` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preload {
    /// As it is asked for.
    pub name: String,
    /// True if the process has it.
    pub is_loaded: bool,
}

/// Looks at a process: the file it runs, the libraries that it has mapped, and the allocator that serves it.
///
/// # Errors
/// When it is gone, or may not be looked into, or as [`Binary::read`].
pub fn process(processes: &Processes, pid: u32, depth: Depth) -> Result<Looked, Error> {
    let exe = format!("/proc/{pid}/exe");
    let link = processes.path(pid, "exe");
    let path = fs_err::read_link(&link)?.to_string_lossy().into_owned();
    let cache = ReadCache::new(File::from_parts(processes.root().open_file(&exe)?.into(), &exe));
    let binary = Binary::read(&cache, depth)?;
    let mut looked = Looked { path, pid: Some(pid), ..Looked::default() };
    // Its paths are those of its mounts.
    let own = processes.path(pid, "root");
    let root = Root::saved(own);
    let mut paths: Vec<String> = Vec::new();
    let is_seen = processes.each_mapping(pid, &mut |mapping| {
        if mapping.is_program() && mapping.path != looked.path && !paths.iter().any(|path| path == mapping.path) {
            paths.push(mapping.path.to_owned());
        }
    });
    if !is_seen {
        looked.notes.push(format!("the mappings of process {pid} may not be read: its libraries are unknown"));
    }
    let mapped: Vec<Library> = paths.iter().map(|path| mapped(&root, path, &mut looked.notes)).collect();
    let asked = asked(processes, pid, &root, &mut looked.notes);
    let is = |library: &Library, name: &str| {
        let path = library.path.as_deref().unwrap_or_default();
        let real = root.path(name);
        library.name == name
            || path == name
            || (!name.contains('/') && path.rsplit('/').next() == Some(name))
            || (name.contains('/') && same_file(&real, &root.path(path)))
    };
    looked.preload = asked
        .iter()
        .map(|name| Preload { name: name.clone(), is_loaded: mapped.iter().any(|library| is(library, name)) })
        .collect();
    if !is_seen {
        looked.preload.clear();
    }
    looked.libraries = in_order(&binary, mapped, &asked, is);
    looked.finish(&root, binary);
    Ok(looked)
}

fn same_file(a: &std::path::Path, b: &std::path::Path) -> bool {
    matches!((fs_err::canonicalize(a), fs_err::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn mapped(root: &Root, path: &str, notes: &mut Vec<String>) -> Library {
    let file = path.strip_suffix(" (deleted)");
    if let Some(file) = file {
        notes.push(format!("{file} was replaced or removed since it was loaded"));
    }
    let binary = if file.is_some() { None } else { resolve::read(root, path, Depth::Quick).ok() };
    let name = binary.as_ref().and_then(|binary| binary.soname.clone());
    let name = name.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path).to_owned());
    let build_id = binary.as_ref().and_then(|binary| binary.build_id.clone());
    Library { name, path: Some(path.to_owned()), found_by: "mapped", build_id, binary }
}

/// Names of libraries to be loaded before all others.
fn asked(processes: &Processes, pid: u32, root: &Root, notes: &mut Vec<String>) -> Vec<String> {
    let environment = processes.root().read(&format!("/proc/{pid}/environ"));
    if environment.is_err() {
        notes.push(format!("the environment of process {pid} may not be read: LD_PRELOAD is unknown"));
    }
    let environment = environment.unwrap_or_default();
    let of = environment.split(|byte| *byte == 0).find_map(|word| word.strip_prefix(b"LD_PRELOAD="));
    let mut asked = words(&String::from_utf8_lossy(of.unwrap_or_default()));
    let file = root.read_text("/etc/ld.so.preload").unwrap_or_default();
    asked.extend(file.lines().filter(|line| !line.starts_with('#')).flat_map(|line| words(&line.replace('\t', " "))));
    asked
}

/// Libraries in the order in which the loader looks for symbols: what was preloaded, what each asks for, and then what was
/// loaded later.
fn in_order(
    program: &Binary,
    mut mapped: Vec<Library>,
    preload: &[String],
    is: impl Fn(&Library, &str) -> bool,
) -> Vec<Library> {
    let mut ordered: Vec<Library> = Vec::new();
    let mut wanted: std::collections::VecDeque<String> = preload.iter().chain(&program.needed).cloned().collect();
    while let Some(name) = wanted.pop_front() {
        if let Some(at) = mapped.iter().position(|library| is(library, &name)) {
            let mut library = mapped.remove(at);
            if preload.contains(&name) {
                library.found_by = "LD_PRELOAD";
            }
            wanted.extend(library.binary.iter().flat_map(|binary| binary.needed.iter().cloned()));
            ordered.push(library);
        }
    }
    ordered.extend(mapped.into_iter().map(|library| Library { found_by: "loaded later", ..library }));
    ordered
}
