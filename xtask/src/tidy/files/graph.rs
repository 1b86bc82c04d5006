//! The files of a crate and what each uses: from the text of all of them, as the module tree names them.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{self, Use};

/// A module by the names that lead to it from the crate's root.
type Module = Vec<String>;

/// An item by the file that defines it, and its name.
type Item = (usize, String);

/// Keywords before the name of an item that a file defines.
const KEYWORDS: [&str; 10] =
    ["struct", "enum", "fn", "trait", "type", "const", "static", "union", "macro_rules!", "mod"];

/// Which files of a crate use which.
pub struct Graph {
    /// Paths within the crate's sources.
    files: Vec<String>,
    modules: Vec<Module>,
    /// The items that each file names, of other files; what it only re-exports is not among them.
    named: Vec<BTreeSet<Item>>,
}

/// A file as it is read.
struct File {
    module: Module,
    uses: Vec<Use>,
    /// The code without its `use` declarations.
    code: String,
    /// Names of items that it defines.
    defined: BTreeSet<String>,
    /// Modules directly inside it.
    inner: BTreeSet<String>,
}

impl Graph {
    /// From paths below the folder of a crate's sources, and texts.
    pub fn new(sources: Vec<(String, String)>) -> Graph {
        let test = tests_of(&sources);
        let is_product = |module: &Module| !test.iter().any(|test| module.starts_with(test));
        let has_lib = sources.iter().any(|(path, _)| path == "lib.rs");
        let (mut names, mut files) = (Vec::new(), Vec::new());
        for (path, text) in sources {
            let module = module_of(&path);
            if is_product(&module) && !(has_lib && path == "main.rs") {
                files.push(File::new(module, &text));
                names.push(path);
            }
        }
        for module in files.iter().map(|file| file.module.clone()).collect::<Vec<_>>() {
            if let Some((last, outer)) = module.split_last()
                && let Some(file) = files.iter_mut().find(|file| file.module == outer)
            {
                file.inner.insert(last.clone());
            }
        }
        let place = files.iter().enumerate().map(|(at, file)| (file.module.clone(), at)).collect();
        let known = Known { files: &files, place };
        let named = (0..files.len()).map(|at| known.named_by(at)).collect();
        Graph { files: names, modules: files.into_iter().map(|file| file.module).collect(), named }
    }

    /// The files that a file uses.
    fn used_by(&self, file: usize) -> BTreeSet<usize> {
        self.named[file].iter().map(|(other, _)| *other).filter(|other| *other != file).collect()
    }

    /// Whether one of two is a module inside the other.
    fn are_parts(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.modules[a], &self.modules[b]);
        a.starts_with(b) || b.starts_with(a)
    }

    /// Circles of more than `most` files: all that each other reach.
    pub fn circles(&self, most: usize) -> Vec<Vec<String>> {
        let n = self.files.len();
        let apart = |file: usize| self.used_by(file).into_iter().filter(move |other| !self.are_parts(file, *other));
        let used: Vec<Vec<usize>> = (0..n).map(|file| apart(file).collect()).collect();
        let reached: Vec<BTreeSet<usize>> = (0..n).map(|file| reached_from(file, &used)).collect();
        let circle = |file: usize| -> BTreeSet<usize> {
            reached[file].iter().copied().filter(|other| reached[*other].contains(&file)).collect()
        };
        let circles: BTreeSet<BTreeSet<usize>> = (0..n).map(circle).filter(|circle| circle.len() > most).collect();
        let names = |circle: BTreeSet<usize>| {
            let mut names: Vec<String> = circle.into_iter().map(|file| self.files[file].clone()).collect();
            names.sort();
            names
        };
        circles.into_iter().map(names).collect()
    }

    /// The walk from `start` through the files that name the type `of` (the file that defines it, and its name), each time it
    /// comes to one; empty when there is no such file.
    pub fn walk(&self, start: &str, of: (&str, &str)) -> Vec<&str> {
        let find = |name: &str| self.files.iter().position(|file| file == name);
        let (Some(start), Some(defined)) = (find(start), find(of.0)) else { return Vec::new() };
        let item = (defined, of.1.to_owned());
        let handles = |file: usize| file != defined && self.named[file].contains(&item);
        let ahead: Vec<Vec<usize>> = (0..self.files.len())
            .map(|file| self.used_by(file).into_iter().filter(|f| handles(*f)).collect())
            .collect();
        let (mut way, mut trail, mut visited) = (vec![start], vec![start], BTreeSet::from([start]));
        while let Some(here) = trail.last().copied() {
            let left = ahead[here].iter().copied().filter(|next| !visited.contains(next));
            match left.max_by_key(|next| longest(*next, &ahead, &visited)) {
                Some(next) => {
                    // Back from another file: the file is visited once more.
                    if way.last() != Some(&here) {
                        way.push(here);
                    }
                    way.push(next);
                    trail.push(next);
                    visited.insert(next);
                }
                None => drop(trail.pop()),
            }
        }
        way.into_iter().map(|file| self.files[file].as_str()).collect()
    }
}

/// How many files there are on the longest way from `file` through those that were not visited.
fn longest(file: usize, ahead: &[Vec<usize>], visited: &BTreeSet<usize>) -> usize {
    let mut visited = visited.clone();
    visited.insert(file);
    let next = ahead[file].iter().filter(|next| !visited.contains(next));
    1 + next.map(|next| longest(*next, ahead, &visited)).max().unwrap_or(0)
}

/// All that can be reached from a file, itself among them.
fn reached_from(file: usize, used: &[Vec<usize>]) -> BTreeSet<usize> {
    let (mut reached, mut left) = (BTreeSet::from([file]), vec![file]);
    while let Some(next) = left.pop() {
        left.extend(used[next].iter().filter(|other| reached.insert(**other)));
    }
    reached
}

/// Modules that only tests have.
fn tests_of(sources: &[(String, String)]) -> Vec<Module> {
    let tests = sources.iter().flat_map(|(path, text)| {
        let module = module_of(path);
        text::test_modules(text).into_iter().map(move |name| [&module[..], &[name]].concat())
    });
    tests.collect()
}

/// The module of a file, by its path below the folder of sources.
fn module_of(path: &str) -> Module {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.len() == 1 {
        module.retain(|name| name != "lib" && name != "main");
    }
    module.pop_if(|last| last == "mod");
    module
}

impl File {
    fn new(module: Module, text: &str) -> File {
        let (uses, code) = text::uses(&text::code(text));
        let words: Vec<&str> = code.split_whitespace().collect();
        let name = |pair: &[&str]| {
            let named = KEYWORDS.contains(&pair[0]).then(|| pair[1].split(|c| !text::is_word(c)).next())?;
            named.map(str::to_owned)
        };
        let defined = words.windows(2).filter_map(name).collect();
        File { module, uses, code, defined, inner: BTreeSet::new() }
    }

    /// The path from the crate's root of one that is written here; None of one that leads out of the crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let (from, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.module[..], &path[1..]),
            "super" => (self.module.get(..self.module.len().checked_sub(supers)?)?, &path[supers..]),
            inner if self.inner.contains(inner) => (&self.module[..], path),
            _ => return None,
        };
        Some([from, rest].concat())
    }
}

/// All files, to find what a path names.
struct Known<'a> {
    files: &'a [File],
    place: BTreeMap<Module, usize>,
}

impl Known<'_> {
    /// The items that a file names, of other files.
    fn named_by(&self, at: usize) -> BTreeSet<Item> {
        let file = &self.files[at];
        let own = file.uses.iter().filter(|used| !used.is_public).map(|used| used.path.clone());
        let is_first = |word: &str| matches!(word, "crate" | "self" | "super") || file.inner.contains(word);
        let mut aliases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for used in &file.uses {
            aliases.insert(&used.name, used.path.clone());
        }
        let is_known = |word: &str| is_first(word) || aliases.contains_key(word);
        let inline = text::paths(&file.code, &is_known).into_iter().map(|path| match aliases.get(path[0].as_str()) {
            Some(alias) if !is_first(&path[0]) => [alias, &path[1..]].concat(),
            _ => path,
        });
        let items = own.chain(inline).filter_map(|path| self.item(&file.absolute(&path)?, &mut Vec::new()));
        items.filter(|(other, _)| *other != at).collect()
    }

    /// The item that a path from the root names, where a file of this crate defines it; through re-exports.
    fn item(&self, path: &[String], seen: &mut Vec<Vec<String>>) -> Option<Item> {
        if seen.iter().any(|before| before == path) {
            return None;
        }
        seen.push(path.to_vec());
        let known = (0..=path.len()).rev().find(|end| self.place.contains_key(&path[..*end]))?;
        let at = self.place[&path[..known]];
        let file = &self.files[at];
        let Some(name) = path.get(known).filter(|name| *name != "*") else { return Some((at, String::new())) };
        let rest = &path[known + 1..];
        if file.defined.contains(name) {
            return Some((at, name.clone()));
        }
        if let Some(used) = file.uses.iter().find(|used| used.name == *name) {
            return self.item(&[&file.absolute(&used.path)?, rest].concat(), seen);
        }
        for all in file.uses.iter().filter(|used| used.name == "*") {
            let Some(from) = file.absolute(&all.path[..all.path.len() - 1]) else { continue };
            let item = self.item(&[&from[..], &path[known..]].concat(), seen);
            if let Some(item) = item.filter(|(other, _)| self.files[*other].defined.contains(name)) {
                return Some(item);
            }
        }
        // An item that a macro defines is written nowhere.
        Some((at, name.clone()))
    }
}
