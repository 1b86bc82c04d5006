//! Rules for every text file: nothing unfinished, nothing that is true on one machine only, no
//! link to a file that is not there; and no large blobs.

use std::path::Path;

use anyhow::Result;

use crate::repository::Repository;

/// Words that mark unfinished work; spelled apart so that this file passes.
const UNFINISHED: &[&str] = &[concat!("FIX", "ME"), concat!("TO", "DO:"), concat!("TO", "DO("), concat!("XX", "X:")];

/// Folders of one machine or one person; spelled apart so that this file passes.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];

/// Endings of the files that people write. What is captured or generated may say what it likes.
const WRITTEN: &[&str] = &["rs", "md", "toml", "sql", "ts", "tsx", "css", "html", "py", "sh", "mjs", "js"];

/// Most bytes a file may have.
const MAX_BYTES: u64 = 1_000_000;

/// Files that may be larger, and why.
const LARGE_FILES: &[(&str, &str)] = &[];

fn is_written(path: &str) -> bool {
    let generated = path.contains("/dist/") || path.contains("/fixtures/");
    let script = path.starts_with("scripts/") || path.starts_with(".ci/") || path == "Makefile";
    let ending = Path::new(path).extension().and_then(|e| e.to_str());
    !generated && (script || ending.is_some_and(|e| WRITTEN.contains(&e)))
}

/// Complains about marks of unfinished work, paths of one machine, and broken links.
pub fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in repository.files()?.iter().filter(|p| is_written(p)) {
        let text = repository.read(path)?;
        // A test may hold what was seen on some machine.
        let machine_paths = if path.contains("/tests") { &[] } else { MACHINE_PATHS };
        for (i, line) in text.lines().enumerate() {
            let found = UNFINISHED.iter().chain(machine_paths).filter(|word| line.contains(**word));
            complaints.extend(found.map(|word| format!("{path}:{}: `{word}`", i + 1)));
        }
        if path.ends_with(".md") {
            complaints.extend(broken_links(repository, path, &text));
        }
    }
    Ok(complaints)
}

fn broken_links(repository: &Repository, path: &str, text: &str) -> Vec<String> {
    let folder = repository.root.join(path);
    let folder = folder.parent().unwrap_or(&repository.root);
    let is_broken = |target: &&str| !target.contains("://") && !target.is_empty() && !folder.join(target).exists();
    links(text).into_iter().filter(is_broken).map(|target| format!("{path}: no such file: {target}")).collect()
}

/// The targets of Markdown links, without their anchors.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.filter_map(|(target, _)| target.split('#').next()).collect()
}

/// Complains about files too large to belong into a repository of sources.
pub fn large_files(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in repository.files()? {
        let bytes = fs_err::metadata(repository.root.join(&path))?.len();
        if bytes > MAX_BYTES && !LARGE_FILES.iter().any(|(p, _)| *p == path) {
            complaints.push(format!("{path}: {bytes} bytes, more than {MAX_BYTES}"));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lose_their_anchors() {
        assert_eq!(links("[a](b.md#c) and [d](#e), [f](g)"), ["b.md", "", "g"]);
    }

    #[test]
    fn what_was_captured_may_name_its_machine() {
        assert!(!is_written("crates/source/fixtures/mounts/mountinfo.txt"));
        assert!(is_written("crates/source/src/lib.rs"));
        assert!(is_written("scripts/demo"));
        assert!(!is_written("web/dist/app.js"));
    }
}
