//! Which files of a crate use which: no circle of more than three, and short walks through them.
//!
//! A file uses another one when it names an item of it: in a `use`, or by a path that begins with `crate`, `self`, `super` or one
//! of its modules. A name that another file re-exports counts for the file that defines it. Declaring a module and
//! re-exporting its items are no use of it. Tests are left out.
//!
//! A circle is a set of files each of which reaches every other one. A module and the modules inside it are one thing with
//! its parts, so that what they use of each other makes no circle; what two parts use of each other may.
//!
//! Circles that are there stand in `xtask/circles.txt`: a list that shrinks. One that is not in it is a complaint, and so is
//! an entry that is no longer exactly a circle.

mod graph;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use self::graph::Graph;
use crate::repository::Repository;

/// How many files may use each other in a circle.
const MOST_IN_CIRCLE: usize = 3;

/// The circles that are there: the folder of a crate's sources, then files, a paragraph each.
const CIRCLES: &str = "xtask/circles.txt";

/// Walks of a value through the files that handle it, and how long they may be.
const WALKS: &[Walk] = &[
    Walk { start: "crates/ingest/src/import.rs", of: ("crates/ingest/src/plan.rs", "Plan"), stays: 7, returns: 2 },
    Walk { start: "crates/cli/src/commands/load/run.rs", of: ("", "RunArgs"), stays: 4, returns: 1 },
];

/// The walk of a value of a type: from where it begins through the files that name the type, along what they use. From each
/// file it goes on to where the way ahead is longest, and back when there is no way ahead but a branch was left out.
struct Walk {
    start: &'static str,
    /// The file that defines the type, empty where that is `start`, and its name.
    of: (&'static str, &'static str),
    /// Files visited, those again to which it returns.
    stays: usize,
    returns: usize,
}

/// Complains about circles that are not listed, and about entries of the list that are none.
pub fn circles(repository: &Repository) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for (folder, files) in sources(repository)? {
        found.extend(Graph::new(files).circles(MOST_IN_CIRCLE).into_iter().map(|circle| (folder.clone(), circle)));
    }
    let listed = listed(&repository.read(CIRCLES)?);
    let text = |(folder, files): &(String, Vec<String>)| format!("{folder}: {}", files.join(" "));
    let new = found
        .difference(&listed)
        .map(|circle| format!("{}; move what they share into another file, below them", text(circle)));
    let gone = listed.difference(&found).map(|circle| {
        format!("{CIRCLES}: no longer a circle of exactly these files: {}; remove or shorten it", text(circle))
    });
    Ok(new.chain(gone).collect())
}

/// Complains about walks that are too long.
pub fn walks(repository: &Repository) -> Result<Vec<String>> {
    let sources = sources(repository)?;
    let mut complaints = Vec::new();
    for walk in WALKS {
        let (folder, start) = sources
            .keys()
            .find_map(|folder| Some((folder, walk.start.strip_prefix(folder.as_str())?.strip_prefix('/')?)))
            .with_context(|| format!("{} is in no crate", walk.start))?;
        let defined = match walk.of.0.strip_prefix(&format!("{folder}/")) {
            Some(file) => file,
            None => start,
        };
        let graph = Graph::new(sources[folder].clone());
        let way = graph.walk(start, (defined, walk.of.1));
        let returns = way.len() - way.iter().collect::<BTreeSet<_>>().len();
        if way.len() > walk.stays || returns > walk.returns || way.len() < 2 {
            complaints.push(format!(
                "{}: the walk of `{}` has {} stays and {returns} returns, of {} and {}: {}",
                walk.start,
                walk.of.1,
                way.len(),
                walk.stays,
                walk.returns,
                way.join(" → ")
            ));
        }
    }
    Ok(complaints)
}

/// The sources of each crate by its folder of them: their paths within it, and their text.
fn sources(repository: &Repository) -> Result<BTreeMap<String, Vec<(String, String)>>> {
    let mut all = BTreeMap::new();
    let files = repository.files()?;
    for c in repository.crates()? {
        let folder = format!("{}/src", c.folder);
        let own = files.iter().filter_map(|file| Some((file, file.strip_prefix(&folder)?.strip_prefix('/')?)));
        let own = own.filter(|(_, within)| within.ends_with(".rs") && !within.starts_with("bin/"));
        let texts: Result<Vec<_>> = own.map(|(file, within)| Ok((within.to_owned(), repository.read(file)?))).collect();
        all.insert(folder, texts?);
    }
    Ok(all)
}

/// Circles as the list has them.
fn listed(text: &str) -> BTreeSet<(String, Vec<String>)> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let paragraphs = lines.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    let circle = |paragraph: &str| {
        let mut words = paragraph.split_whitespace().map(str::to_owned);
        let folder = words.next().unwrap_or_default();
        let mut files: Vec<String> = words.collect();
        files.sort();
        (folder, files)
    };
    paragraphs.map(circle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Graph {
        Graph::new(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn a_circle_is_found_through_re_exports_and_paths() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;\npub use a::A;"),
            ("a.rs", "use crate::b::B;\npub struct A;"),
            ("b.rs", "pub struct B; fn f() { super::c::g() }"),
            ("c.rs", "use super::{d::{self, D as E}};\npub fn g() {}"),
            ("d.rs", "use crate::A;\npub struct D;"),
        ];
        assert_eq!(graph(&files).circles(3), [["a.rs", "b.rs", "c.rs", "d.rs"].map(str::to_owned)]);
        assert!(graph(&files).circles(4).is_empty());
    }

    #[test]
    fn comments_strings_tests_and_parts_of_a_module_make_no_circle() {
        let uses = |test: &str| format!("{test}\npub struct X;");
        for back in [
            "// use crate::c::X;",
            "const T: &str = \"crate::c::X\"; const C: char = '\"';",
            "#[cfg(test)]\nmod tests {\n    use crate::c::X;\n}",
            "#[cfg(test)]\nuse crate::c::{X};",
        ] {
            let files =
                [("lib.rs", ""), ("a.rs", &*uses(back)), ("b.rs", "use crate::a::X;"), ("c.rs", "use crate::b::X;")];
            assert!(graph(&files).circles(2).is_empty(), "{back}");
        }
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c;\nuse b::B;\npub struct A; fn f() { c::f() }"),
            ("a/b.rs", "use super::A;\npub struct B;"),
            ("a/c.rs", "use super::A;\npub fn f() {}"),
        ];
        assert!(graph(&files).circles(1).is_empty());
    }

    #[test]
    fn parts_of_a_module_that_use_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; mod c;"),
            ("a/b.rs", "use super::c::f;\npub struct B;"),
            ("a/c.rs", "use super::b::B;\npub fn f() {}"),
        ];
        assert_eq!(graph(&files).circles(1), [["a/b.rs", "a/c.rs"].map(str::to_owned)]);
    }

    #[test]
    fn a_walk_goes_where_the_type_is_named_and_returns_for_what_was_left_out() {
        let files = [
            ("lib.rs", "pub use plan::Plan;"),
            ("plan.rs", "pub struct Plan;"),
            ("start.rs", "use crate::{Plan, read::read, write::write, other::o};"),
            ("read.rs", "use crate::{plan::Plan, deep::deep};\npub fn read() {}"),
            ("deep.rs", "use crate::plan::Plan;\npub fn deep() {}"),
            ("write.rs", "use crate::plan;\npub fn write(plan: &plan::Plan) {}"),
            ("other.rs", "pub fn o() {}"),
        ];
        let graph = graph(&files);
        let way = graph.walk("start.rs", ("plan.rs", "Plan"));
        assert_eq!(way, ["start.rs", "read.rs", "deep.rs", "start.rs", "write.rs"]);
    }

    #[test]
    fn the_list_has_a_circle_a_paragraph() {
        let text = "# Why.\n\na/src\n    b.rs a.rs\n    c.rs\n\nd/src\n    e.rs\n";
        let circle =
            |folder: &str, files: &[&str]| (folder.to_owned(), files.iter().map(|f| (*f).to_owned()).collect());
        let expected = [circle("a/src", &["a.rs", "b.rs", "c.rs"]), circle("d/src", &["e.rs"])];
        assert_eq!(listed(text), expected.into());
    }
}
