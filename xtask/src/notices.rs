//! The notices that licences ask for, of everything that is linked into the programs, shipped beside them, or bundled into
//! the pages: `third-party/NOTICES.txt`. Computed from Cargo.lock with the sources that cargo keeps, from
//! `third-party/bundled.toml`, and from what the bundler wrote at the head of the pages' files. A part without a licence
//! text is an error: nothing is shipped before it is known what its licence asks for.

mod crates;
mod texts;

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::repository::Repository;
use crates::Linked;
use texts::{Texts, is_other, notices};

/// The generated file.
pub const FILE: &str = "third-party/NOTICES.txt";

const FOLDER: &str = "third-party";
const BUNDLED: &str = "third-party/bundled.toml";

/// Built files of the pages, each with a comment at its head, and their names in the list.
const PAGES: [(&str, &str); 2] = [("web/dist/app.js", "pages"), ("web/dist/editor.js", "SQL editor")];

const HEAD: &str = "\
Third-party notices of Fenxi

Fenxi is under the Apache License, Version 2.0. The programs `fenxi` and `fenxi-engine`, the library libduckdb.so and
the pages contain the work of others, which is listed here with the licences under which it is offered. Where there are
several, Fenxi uses one that asks for no more than its notice; libelf offers none such. Numbers are those of the texts below.
";

/// The notice that licences ask for, of one part.
#[derive(Debug)]
struct Part {
    name: String,
    version: String,
    licence: String,
    /// Which of the things shipped it is part of.
    within: String,
    /// Whose it is, in their own lines.
    head: Vec<String>,
    /// Numbers of texts.
    texts: Vec<usize>,
}

impl Part {
    fn new(name: &str, version: &str, licence: &str, within: &str) -> Part {
        let [name, version, licence, within] = [name, version, licence, within].map(str::to_owned);
        Part { name, version, licence, within, head: Vec::new(), texts: Vec::new() }
    }

    /// Adds the text of a licence file.
    fn add(&mut self, text: &str, texts: &mut Texts) {
        for notice in notices(text) {
            for line in notice.head {
                if !self.head.contains(&line) {
                    self.head.push(line);
                }
            }
            let number = texts.number(&notice.body);
            if !self.texts.contains(&number) {
                self.texts.push(number);
            }
        }
    }
}

/// The whole file.
///
/// # Errors
/// When a part has no licence text, or a text is of another release than the one that is used.
pub fn page(repository: &Repository) -> Result<String> {
    let bundled: toml::Table = repository.read(BUNDLED)?.parse().context(BUNDLED)?;
    same_releases(repository, &bundled)?;
    let linked = crates::linked(repository)?;
    let mut texts = Texts::default();
    let mut parts = Vec::new();
    for one in &linked {
        parts.push(of_crate(repository, one, &linked, &bundled, &mut texts)?);
    }
    for entry in bundled["part"].as_array().into_iter().flatten() {
        parts.push(of_entry(repository, entry, &linked, &mut texts)?);
    }
    for (path, within) in PAGES {
        parts.extend(of_page(path, &repository.read(path)?, within, &mut texts)?);
    }
    Ok(render(&parts, &texts))
}

/// Texts taken from a release are of that release only.
fn same_releases(repository: &Repository, bundled: &toml::Table) -> Result<()> {
    for (key, file, line) in [("rust", "rust-toolchain.toml", "channel = \""), ("duckdb", "scripts/engine", "version=")]
    {
        let text = repository.read(file)?;
        let used = text.lines().find_map(|l| l.strip_prefix(line)).unwrap_or_default().trim_end_matches('"');
        let taken = bundled["release"].get(key).and_then(toml::Value::as_str).unwrap_or_default();
        if used != taken {
            bail!(
                "{BUNDLED}: the texts of {key} are of release {taken}, and {file} has {used}: look at its licences again"
            );
        }
    }
    Ok(())
}

fn of_crate(
    repository: &Repository,
    one: &Linked,
    linked: &[Linked],
    bundled: &toml::Table,
    texts: &mut Texts,
) -> Result<Part> {
    let mut part = Part::new(&one.name, &one.version, &one.licence, "crate");
    for file in one.files()? {
        let bytes = fs_err::read(one.folder.join(file))?;
        let text = String::from_utf8_lossy(&bytes);
        if !is_other(&text) {
            part.add(&text, texts);
        }
    }
    let stand_in = bundled["stand-in"].get(&one.name).and_then(toml::Value::as_array);
    for place in stand_in.into_iter().flatten().filter_map(toml::Value::as_str) {
        part.add(&text_at(repository, place, linked)?, texts);
    }
    if part.texts.is_empty() {
        bail!(
            "crate {} {} ({}) is linked and its package holds no licence text: name one under [stand-in] in {BUNDLED}",
            one.name,
            one.version,
            one.licence
        );
    }
    Ok(part)
}

fn of_entry(repository: &Repository, entry: &toml::Value, linked: &[Linked], texts: &mut Texts) -> Result<Part> {
    let get = |key: &str| entry.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    let mut part = Part::new(get("name"), get("version"), get("licence"), get("within"));
    let places = entry.get("texts").and_then(toml::Value::as_array);
    for place in places.into_iter().flatten().filter_map(toml::Value::as_str) {
        part.add(&text_at(repository, place, linked)?, texts);
    }
    if part.name.is_empty() || part.licence.is_empty() || part.texts.is_empty() {
        bail!("{BUNDLED}: part `{}` lacks a name, a licence or a text", part.name);
    }
    Ok(part)
}

/// The text at `texts/FILE` beside the list, or at `CRATE/FILE` in the sources of a linked crate.
fn text_at(repository: &Repository, place: &str, linked: &[Linked]) -> Result<String> {
    if place.starts_with("texts/") {
        return repository.read(&format!("{FOLDER}/{place}"));
    }
    let (name, file) = place.split_once('/').with_context(|| format!("{BUNDLED}: `{place}` is no CRATE/FILE"))?;
    let found = linked.iter().find(|l| l.name == name);
    let found = found.with_context(|| format!("{BUNDLED}: `{place}`: crate {name} is not linked"))?;
    Ok(String::from_utf8_lossy(&fs_err::read(found.folder.join(file))?).into_owned())
}

/// The packages that the bundler names at the head of a file, one a line as `NAME VERSION (LICENCE): COPYRIGHT`, and behind
/// an empty line their licences' texts.
fn of_page(path: &str, file: &str, within: &str, texts: &mut Texts) -> Result<Vec<Part>> {
    let comment = file.strip_prefix("/*!").and_then(|rest| rest.split_once("*/"));
    let (comment, _) = comment.with_context(|| format!("{path} begins with no notices: run `make web`"))?;
    let (list, bodies) = comment.split_once("\n\n").with_context(|| format!("{path}: the notices hold no licence"))?;
    let numbers: Vec<usize> = bodies.trim_end().split("\n\n----\n\n").map(|body| texts.number(body)).collect();
    let mut parts = Vec::new();
    for line in list.lines().skip(1) {
        let parsed = line.split_once("): ").and_then(|(left, head)| {
            let (package, licence) = left.split_once(" (")?;
            let (name, version) = package.rsplit_once(' ')?;
            Some((Part::new(name, version, licence, within), head))
        });
        let (mut part, head) = parsed.with_context(|| format!("{path}: cannot read the notice `{line}`"))?;
        part.head.push(head.to_owned());
        part.texts.clone_from(&numbers);
        parts.push(part);
    }
    if parts.is_empty() {
        bail!("{path}: the notices name no package");
    }
    Ok(parts)
}

fn render(parts: &[Part], texts: &Texts) -> String {
    let mut page = format!("{HEAD}\n");
    for part in parts {
        let numbers: Vec<String> = part.texts.iter().map(|n| format!("[{n}]")).collect();
        let version = if part.version.is_empty() { String::new() } else { format!(" {}", part.version) };
        let _ = writeln!(page, "* {}{version} · {} · {} · {}", part.name, part.within, part.licence, numbers.join(" "));
        for line in &part.head {
            let _ = writeln!(page, "      {line}");
        }
    }
    for (i, text) in texts.all.iter().enumerate() {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let _ = write!(page, "\n{:=<100}\n\n{}\n", format!("[{}] ", i + 1), lines.join("\n"));
    }
    // It is shown on terminals, and was written by others.
    page.retain(|c| c == '\n' || !c.is_control());
    page
}

#[cfg(test)]
mod tests;
