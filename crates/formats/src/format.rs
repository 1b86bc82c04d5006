//! Definition of a format.

use fenxi_model::Table;

use super::{Input, Out};

/// One format that can be imported.
///
/// The fields of a described one are in its description, which is read when it is asked for: they are empty then.
pub struct Format {
    /// Its name for `import --as`; also its module's name and its fixtures' folder, with `-` for `_`.
    pub name: &'static str,
    /// Which tools and options print it, in one line.
    pub(crate) summary: &'static str,
    /// Where it belongs in listings.
    pub family: Family,
    /// Tables it can fill; anything else it finds goes to `metric`.
    pub(crate) tables: &'static [&'static Table],
    /// A few lines as the tool prints them.
    pub(crate) example: &'static str,
    /// Recognises the format from the first kilobytes. Must be quick and must not guess
    /// from words that other tools print too.
    pub sniff: fn(&Head<'_>) -> Sure,
    /// Reads all of the input. Cannot fail: what it cannot read it notes.
    pub read: fn(&mut Input<'_>, &mut Out<'_>),
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({})", self.name)
    }
}

/// Tables that a format fills, for listings.
#[derive(Clone, Copy, Debug)]
pub enum Fills {
    /// Only `result` and `metric`.
    Results,
    /// These tables.
    Tables(&'static [&'static Table]),
    /// Too many to list them.
    Any,
}

/// Families of formats, for listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Statistics tools of Linux.
    Linux,
    /// Statistics tools of Solaris, AIX, HP-UX, BSD and macOS.
    Unix,
    /// Tracers and profilers.
    Trace,
    /// Load generators and benchmarks.
    Load,
    /// Reports about databases.
    Database,
    /// Formats that carry anything.
    Generic,
}

impl Family {
    /// Title in listings.
    pub fn title(self) -> &'static str {
        match self {
            Family::Linux => "Linux statistics",
            Family::Unix => "Solaris, AIX, HP-UX, BSD and macOS statistics",
            Family::Trace => "Tracers and profilers",
            Family::Load => "Load generators and benchmarks",
            Family::Database => "Database reports",
            Family::Generic => "Anything with columns",
        }
    }
}

/// Confidence of a format that an input is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It is not.
    No,
    /// It could be read so, if no other format claims it (a CSV file).
    Perhaps,
    /// It has this tool's header or a line that hardly anything else prints.
    Likely,
    /// It names the tool or has a header that nothing else prints.
    Certain,
}

impl Sure {
    /// `self` when `condition` holds, else [`Sure::No`].
    pub fn when(self, condition: bool) -> Sure {
        if condition { self } else { Sure::No }
    }
}

/// The beginning of an input, for sniffing.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The first kilobytes; invalid UTF-8 is replaced. The last line may be cut.
    pub text: &'a str,
}

impl<'a> Head<'a> {
    /// The lines that are not blank, without surrounding blanks; at most the first 400.
    pub fn lines(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        Lines { rest: self.text }.map(trimmed).filter(|l| !l.is_empty()).take(400)
    }

    /// The first line that is not blank.
    pub fn first(&self) -> &'a str {
        self.lines().next().unwrap_or("")
    }

    /// Returns true if any line, its runs of blanks made single, contains `words`.
    pub fn has_words(&self, words: &str) -> bool {
        // Nearly all heads lack one of the words, which is found quickly: every format asks for some.
        let has = |word: &str| memchr::memmem::find(self.text.as_bytes(), word.as_bytes()).is_some();
        words.split(' ').all(has) && self.lines().any(|line| squeeze(line).contains(words))
    }

    /// Returns true if any line satisfies `test`.
    pub fn any(&self, test: impl FnMut(&str) -> bool) -> bool {
        self.lines().any(test)
    }
}

/// Lines as `str::lines` gives them. Each of more than a hundred formats goes through them, so that it must be quick.
struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', self.rest.as_bytes()) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        Some(line)
    }
}

/// As `str::trim`, quicker for what needs none.
#[inline]
fn trimmed(line: &str) -> &str {
    let plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let bytes = line.as_bytes();
    if plain(bytes.first()) && plain(bytes.last()) { line } else { line.trim() }
}

/// The line with every run of blanks made one space.
fn squeeze(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for word in line.split_ascii_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}
