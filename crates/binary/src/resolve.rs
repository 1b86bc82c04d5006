//! Libraries as the loader finds them: RPATH, `LD_LIBRARY_PATH`, RUNPATH, `ld.so.cache`, the loader's own folders.

use std::collections::{BTreeMap, VecDeque};

use fenxi_procfs::Root;
use fs_err::File;
use object::ReadCache;
use serde::Serialize;

use crate::{Binary, Depth, Error};

/// Libraries of a program that are followed.
const MOST: usize = 1000;
/// Folders that are searched at last.
const FOLDERS: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/// A library that a program asks for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Library {
    /// The name that is asked for.
    pub name: String,
    /// Where it is; None when it is not found.
    pub path: Option<String>,
    /// Search path that led there: `RPATH`, `RUNPATH`, `LD_LIBRARY_PATH`, `ld.so.cache`, `default`, `path`, `LD_PRELOAD`, `mapped`.
    pub found_by: &'static str,
    /// Its build-id.
    pub build_id: Option<String>,
    /// Metadata, where it could be read.
    #[serde(skip)]
    pub binary: Option<Binary>,
}

/// Search rules of the loader on one machine.
pub struct Loader<'a> {
    root: &'a Root,
    cache: BTreeMap<String, Vec<String>>,
    /// `LD_LIBRARY_PATH`.
    pub library_path: Vec<String>,
    /// The level of x86-64 of this machine's processors.
    level: u8,
}

/// Reads a file of the machine.
///
/// # Errors
/// When it cannot be opened, or as [`Binary::read`].
pub(crate) fn read(root: &Root, path: &str, depth: Depth) -> Result<Binary, Error> {
    let cache = ReadCache::new(File::from_parts(root.open_file(path)?.into(), path));
    Binary::read(&cache, depth)
}

/// One that was found, and what its libraries go by.
struct Found<'b> {
    binary: &'b Binary,
    path: String,
    rpaths: Vec<String>,
}

impl<'a> Loader<'a> {
    /// The loader of a machine, with the folders that it was given.
    pub fn new(root: &'a Root, library_path: &str) -> Loader<'a> {
        let cache = root.read("/etc/ld.so.cache").map(|bytes| cached(&bytes)).unwrap_or_default();
        let library_path = library_path.split([':', ';']).filter(|dir| !dir.is_empty()).map(str::to_owned).collect();
        Loader { root, cache, library_path, level: level(&Root::live()) }
    }

    /// Libraries of a program, those asked for in the environment first, then in the order in which symbols are looked up.
    pub fn libraries(&self, program: &Binary, path: &str, preload: &[String]) -> Vec<Library> {
        let mut all: Vec<Library> = Vec::new();
        let main = Found { binary: program, path: path.to_owned(), rpaths: Vec::new() };
        let mut asked: VecDeque<Asked> = VecDeque::new();
        for name in preload {
            asked.push_back(Asked { name: name.clone(), is_preload: true, ..asked_by(&main) });
        }
        ask(&main, &mut asked);
        while let Some(wanted) = asked.pop_front() {
            if all.len() >= MOST || all.iter().any(|known| known.name == wanted.name) {
                continue;
            }
            let found = self.find(&wanted, program);
            let Asked { name, rpaths, is_preload, .. } = wanted;
            let found_by = if is_preload { "LD_PRELOAD" } else { found.as_ref().map_or("", |(_, by, _)| by) };
            let Some((path, _, binary)) = found else {
                all.push(Library { name, path: None, found_by, build_id: None, binary: None });
                continue;
            };
            ask(&Found { binary: &binary, path: path.clone(), rpaths }, &mut asked);
            let build_id = binary.build_id.clone();
            all.push(Library { name, path: Some(path), found_by, build_id, binary: Some(binary) });
        }
        all
    }

    /// The first file of a name that is for the program's machine.
    fn find(&self, wanted: &Asked, program: &Binary) -> Option<(String, &'static str, Binary)> {
        let Asked { name, from, rpaths, runpath, .. } = wanted;
        let fits = |path: String, by: &'static str| {
            let binary = read(self.root, &path, Depth::Quick).ok()?;
            (binary.class == program.class && binary.machine == program.machine).then_some((path, by, binary))
        };
        if name.contains('/') {
            return fits(origin(name, from), "path");
        }
        let below = |dir: &str| format!("{}/{name}", origin(dir, from).trim_end_matches('/'));
        let runpaths = runpath.as_deref().unwrap_or_default().split(':').filter(|dir| !dir.is_empty());
        let folders = (rpaths.iter().map(|dir| (dir.as_str(), "RPATH")))
            .chain(self.library_path.iter().map(|dir| (dir.as_str(), "LD_LIBRARY_PATH")))
            .chain(runpaths.map(|dir| (dir, "RUNPATH")));
        for (dir, by) in folders {
            if let Some(found) = fits(below(dir), by) {
                return Some(found);
            }
        }
        for path in self.cache.get(name.as_str()).into_iter().flatten().filter(|path| self.may_use(path)) {
            if let Some(found) = fits(path.clone(), "ld.so.cache") {
                return Some(found);
            }
        }
        FOLDERS.iter().find_map(|dir| fits(below(dir), "default"))
    }

    /// Whether processors of this machine have what a library of `glibc-hwcaps` is built for.
    fn may_use(&self, path: &str) -> bool {
        let Some((_, rest)) = path.split_once("/glibc-hwcaps/") else { return true };
        let level = rest.strip_prefix("x86-64-v").and_then(|rest| rest.split('/').next()?.parse::<u8>().ok());
        level.is_some_and(|level| level <= self.level)
    }
}

/// A library that a file asks for.
struct Asked {
    name: String,
    /// The file.
    from: String,
    rpaths: Vec<String>,
    runpath: Option<String>,
    is_preload: bool,
}

/// Search paths for the libraries that a file asks for; the name is empty.
fn asked_by(found: &Found<'_>) -> Asked {
    // A RUNPATH is for the file's own libraries alone, and it makes the loader ignore every RPATH above.
    let rpaths = if found.binary.runpath.is_some() { Vec::new() } else { rpaths(found) };
    let (from, runpath) = (found.path.clone(), found.binary.runpath.clone());
    Asked { name: String::new(), from, rpaths, runpath, is_preload: false }
}

/// Adds what one file asks for.
fn ask(found: &Found<'_>, asked: &mut VecDeque<Asked>) {
    asked.extend(found.binary.needed.iter().map(|name| Asked { name: name.clone(), ..asked_by(found) }));
}

fn rpaths(found: &Found<'_>) -> Vec<String> {
    let own = found.binary.rpath.as_deref().filter(|_| found.binary.runpath.is_none()).unwrap_or_default();
    let own = own.split(':').filter(|dir| !dir.is_empty()).map(|dir| origin(dir, &found.path));
    own.chain(found.rpaths.iter().cloned()).take(64).collect()
}

/// Puts the folder of the file that asks into a path.
fn origin(path: &str, from: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.replace("${ORIGIN}", folder).replace("$ORIGIN", folder).replace("${LIB}", "lib").replace("$LIB", "lib")
}

/// The level of x86-64 of the processors; 1 where it is unknown.
pub(crate) fn level(root: &Root) -> u8 {
    const V2: [&str; 6] = ["cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"];
    const V3: [&str; 8] = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"];
    const V4: [&str; 5] = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];
    let text = root.read_text("/proc/cpuinfo").unwrap_or_default();
    let Some(line) = text.lines().find(|line| line.starts_with("flags")) else { return 1 };
    let has = |wanted: &[&str]| wanted.iter().all(|flag| line.split_ascii_whitespace().any(|word| word == *flag));
    [&V2[..], &V3, &V4].iter().take_while(|wanted| has(wanted)).count() as u8 + 1
}

/// The loader's cache: names of libraries, and where they are, in its order.
fn cached(bytes: &[u8]) -> BTreeMap<String, Vec<String>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Before it may be the cache of an older format.
    let Some(begin) = bytes.windows(MAGIC.len()).position(|part| part == MAGIC) else { return found };
    let bytes = &bytes[begin..];
    let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let text = |at: usize| {
        let rest = bytes.get(at..)?;
        let end = rest.iter().take(4096).position(|byte| *byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok().map(str::to_owned)
    };
    for entry in 0..number(MAGIC.len()).unwrap_or(0).min(bytes.len() / 24) {
        let at = 48 + 24 * entry;
        let (Some(name), Some(path)) = (number(at + 4).and_then(text), number(at + 8).and_then(text)) else { continue };
        found.entry(name).or_default().push(path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_is_cut_gives_what_is_left_of_it() {
        let mut bytes = b"older\0glibc-ld.so.cache1.1".to_vec();
        bytes.extend(1u32.to_ne_bytes());
        bytes.resize(6 + 48, 0);
        for number in [3u32, 72, 80, 0, 0, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(b"liba.so\0/lib/liba.so\0");
        assert_eq!(cached(&bytes)["liba.so"], ["/lib/liba.so"]);
        for end in 0..bytes.len() {
            assert!(cached(&bytes[..end]).len() <= 1);
        }
    }

    #[test]
    fn the_level_of_a_processor_is_that_of_which_it_has_all() {
        let dir = tempfile::tempdir().unwrap();
        let level_of = |flags: &str| {
            fs_err::create_dir_all(dir.path().join("proc")).unwrap();
            fs_err::write(dir.path().join("proc/cpuinfo"), format!("flags\t\t: {flags}\n")).unwrap();
            level(&Root::saved(dir.path()))
        };
        let v2 = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3";
        assert_eq!((level_of("sse2"), level_of(v2), level_of(&format!("{v2} avx avx2"))), (1, 2, 2));
        assert_eq!(level_of(&format!("{v2} avx avx2 bmi1 bmi2 f16c fma abm movbe")), 3);
    }

    #[test]
    fn folders_are_named_beside_the_file_that_asks() {
        assert_eq!(origin("$ORIGIN/../lib", "/opt/a/bin/x"), "/opt/a/bin/../lib");
        assert_eq!(origin("/usr/lib", "/opt/a/bin/x"), "/usr/lib");
    }
}
