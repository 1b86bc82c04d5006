//! Formats of stores against their fixtures, and invalid files against their errors.

mod added;
mod files;
mod reports;
mod shipped;
mod texts;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use fenxi_model::Micros;

use super::TextFormat;
use crate::{AnyFormat, Head, Hints, Sure, fixtures::Read, fixtures::read_any};

/// A format from a file's text.
pub(super) fn format(text: &str) -> TextFormat {
    TextFormat::parse("mine", "mine.toml", text, "").unwrap_or_else(|e| panic!("{e}"))
}

/// Result of reading a text in `format`.
pub(super) fn read(format: TextFormat, text: &str) -> Read {
    read_bytes(&AnyFormat::Own(Arc::new(format)), text.as_bytes())
}

fn read_bytes(format: &AnyFormat, bytes: &[u8]) -> Read {
    let modified = Micros::parse("2026-01-02T03:04:05");
    read_any(format, bytes, Hints { modified, default_host: "fixture".to_owned(), ..Hints::none("file") })
}

fn folder() -> PathBuf {
    PathBuf::from("fixtures/own")
}

/// The formats among the fixtures that claim a text which begins so.
pub(crate) fn claims(head: &Head<'_>) -> Vec<&'static str> {
    static KNOWN: OnceLock<Vec<AnyFormat>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| fixtures().into_iter().map(|(format, _, _)| format).collect());
    let own = known.iter().filter_map(|format| match format {
        AnyFormat::Own(own) => Some(own),
        AnyFormat::Shipped(_) | AnyFormat::Hosts(_) => None,
    });
    own.filter(|own| own.sniff(head) > Sure::No).map(|own| own.about().name).collect()
}

/// The formats among the fixtures, and a text of each.
fn fixtures() -> Vec<(AnyFormat, PathBuf, Vec<u8>)> {
    let mut paths: Vec<_> = fs_err::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let one = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs_err::read_to_string(&path).unwrap();
        let format =
            TextFormat::parse(&name, &format!("{name}.toml"), &text, "digest").unwrap_or_else(|e| panic!("{e}"));
        let text = path.with_extension("txt");
        let bytes = fs_err::read(&text).unwrap();
        (AnyFormat::Own(Arc::new(format)), text, bytes)
    };
    paths.into_iter().map(one).collect()
}
