//! The part of the home that is synced: all of it, by the user's rules, or a directory below it.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use fs_err as fs;

use crate::{Error, Pair, STATE, TRASH};

/// A directory, by its path below the home; the home itself where that is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope(Vec<u8>);

impl Scope {
    /// The directory that a user means, a relative one in the current folder.
    ///
    /// # Errors
    /// It is not below the home, or no directory.
    pub fn new(pair: &Pair, directory: &Path) -> Result<Scope, Error> {
        let wrong = |why: &str| Error::Usage(format!("{} {why}", directory.display()));
        let path = fs::canonicalize(directory).map_err(|_| wrong("is no directory here"))?;
        let outside = |_| Error::Usage(format!("can not sync \"{}\", as it is not under $HOME", directory.display()));
        let below = path.strip_prefix(&pair.home).map_err(outside)?;
        if !path.is_dir() {
            return Err(wrong("is no directory here"));
        }
        if below.starts_with(STATE) || below.starts_with(TRASH) {
            return Err(wrong("is Lsync's own"));
        }
        Ok(Scope(below.as_os_str().as_bytes().to_vec()))
    }

    /// As a shell shows it.
    pub fn shown(&self) -> String {
        match self.0.as_slice() {
            [] => "~".to_owned(),
            path => format!("~/{}", String::from_utf8_lossy(path)),
        }
    }

    /// Whether a path below the home is in it.
    pub fn has(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.0.as_slice());
        self.0.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// A path below the home as seen from here.
    pub fn relative<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let rest = path.strip_prefix(self.0.as_slice()).unwrap_or(path);
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        if rest.is_empty() { b"." } else { rest }
    }

    /// Rules of rsync: this tool's own files first, of which only the list is compared; then what is in scope.
    pub(crate) fn rules(&self, pair: &Pair) -> Vec<OsString> {
        let rule = |kind: &str, path: &[u8]| {
            OsString::from_vec([b"--filter=".as_slice(), kind.as_bytes(), b" /", path].concat())
        };
        let mut rules = vec![rule("-", TRASH.as_bytes()), rule("+", format!("{STATE}/").as_bytes())];
        rules.push(rule("+", pair.state("list").as_bytes()));
        rules.push(rule("-", format!("{STATE}/*").as_bytes()));
        if self.0.is_empty() {
            if pair.includes.exists() {
                rules.push([OsStr::new("--include-from="), pair.includes.as_os_str()].join(OsStr::new("")));
            }
            return rules;
        }
        let ends = self.0.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        rules.extend(ends.map(|at| rule("+", &[pattern(&self.0[..at]).as_slice(), b"/"].concat())));
        rules.push(rule("+", &[escaped(&self.0).as_slice(), b"/***"].concat()));
        rules.push("--filter=- *".into());
        rules
    }
}

/// A path as a pattern that matches it. A backslash is one in a pattern without wildcards.
fn pattern(path: &[u8]) -> Vec<u8> {
    if path.iter().any(|byte| b"*?[".contains(byte)) { escaped(path) } else { path.to_vec() }
}

fn escaped(path: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| if b"*?[\\".contains(byte) { vec![b'\\', *byte] } else { vec![*byte] };
    path.iter().flat_map(escape).collect()
}
