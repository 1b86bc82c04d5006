//! rsync as a child: its lines of what it does as they come, its messages, and its end.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    process::{Command, Stdio},
    thread,
};

use crate::{Entry, Error, Pair};

/// The format of lines: `@` and the codes of `--itemize-changes`, size, time, checksum if asked for, name.
pub(crate) const FORMAT: &str = "--out-format=@%i %l %M %n";
const FORMAT_WITH_HASH: &str = "--out-format=@%i %l %M %C %n";
/// Characters of these codes, and of an MD5.
const CODES: usize = 11;
const HASH: usize = 32;
/// Environment in which names and times have one form.
pub(crate) const ENVIRONMENT: [(&str, &str); 2] = [("LC_ALL", "C"), ("TZ", "UTC0")];
/// Bytes of messages that are kept.
const MESSAGES: u64 = 64 << 10;
/// Exit statuses of rsync: some files could not be read or written; some vanished meanwhile.
const PARTIAL: i32 = 23;
const VANISHED: i32 = 24;

/// A run of rsync.
pub(crate) struct Rsync {
    command: Command,
    paths: Vec<u8>,
    with_hash: bool,
}

/// The report of a run of rsync.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Whether all was done.
    pub is_whole: bool,
    /// Files of the sender, directories not counted.
    pub files: u64,
    /// Its totals, two lines.
    pub totals: Vec<String>,
    /// Its messages.
    pub messages: Vec<String>,
}

impl Rsync {
    /// One with the options that all have: what is compared and set of a file, and in which form it is reported.
    pub fn new(pair: &Pair, with_hash: bool) -> Rsync {
        let mut command = Command::new("rsync");
        command.args(["--links", "--perms", "--times", "--info=stats2,nonreg0", "--no-human-readable", "-e"]);
        command.arg(&pair.rsh).arg(if with_hash { FORMAT_WITH_HASH } else { FORMAT });
        if with_hash {
            command.args(["--checksum", "--checksum-choice=md5"]);
        }
        command.envs(ENVIRONMENT).current_dir(&pair.home);
        Rsync { command, paths: Vec::new(), with_hash }
    }

    /// A command that starts one, and prints what it prints.
    pub fn by(mut command: Command, pair: &Pair) -> Rsync {
        command.envs(ENVIRONMENT).current_dir(&pair.home);
        Rsync { command, paths: Vec::new(), with_hash: false }
    }

    /// Adds options and paths.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Only these paths.
    pub fn only<'p>(mut self, paths: impl IntoIterator<Item = &'p [u8]>) -> Self {
        self.command.args(["--files-from=-", "--from0", "--dirs"]);
        // A name that begins with `#` or `;` would begin a comment.
        self.paths = paths.into_iter().flat_map(|path| [b"./", path, b"\0"].concat()).collect();
        self
    }

    /// Runs it to its end. Ctrl-C on a terminal ends it, and this program.
    pub fn run(mut self, each: &mut dyn FnMut(Line)) -> Result<Report, Error> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = self.command.get_program().to_string_lossy().into_owned();
        let mut child = self.command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound if program == "rsync" => {
                Error::Failed("there is no `rsync` here: install it (Debian: apt-get install rsync)".to_owned())
            }
            _ => Error::Failed(format!("cannot run `{program}`: {error}")),
        })?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Whatever it does not take of its input it reports itself.
        let writer = thread::spawn(move || input.map(|mut input| input.write_all(&self.paths)));
        let messages = thread::spawn(move || errors.map(lines).unwrap_or_default());
        let mut report = Report::default();
        let read = output.map_or(Ok(()), |output| reports(output, self.with_hash, each, &mut report));
        let status = child.wait()?;
        read?;
        let _ = writer.join();
        report.messages = messages.join().unwrap_or_default();
        match status.code() {
            Some(0) => report.is_whole = true,
            // Directories that are deleted do, too; the next check looks at it.
            Some(VANISHED) => {
                report.is_whole = true;
                report.messages.retain(|line| !line.starts_with("file has vanished") && !line.contains("(code 24)"));
            }
            Some(PARTIAL) => {}
            _ if report.messages.is_empty() => return Err(Error::Failed(format!("{program} failed ({status})"))),
            _ => return Err(Error::Failed(format!("{program}: {}", report.messages.join("\n")))),
        }
        Ok(report)
    }
}

fn reports(output: impl Read, with_hash: bool, each: &mut dyn FnMut(Line), report: &mut Report) -> io::Result<()> {
    let mut output = BufReader::with_capacity(1 << 16, output);
    let mut bytes = Vec::new();
    while output.read_until(b'\n', &mut bytes)? > 0 {
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        match Line::parse(line, with_hash) {
            Some(line) => each(line),
            None if line.starts_with(b"sent ") || line.starts_with(b"total size ") => {
                report.totals.push(String::from_utf8_lossy(line).into_owned());
            }
            None => report.files = files(line).unwrap_or(report.files),
        }
        bytes.clear();
    }
    Ok(())
}

/// `Number of files: 7 (reg: 5, dir: 2)`: 5.
fn files(line: &[u8]) -> Option<u64> {
    let line = str::from_utf8(line.strip_prefix(b"Number of files: ")?).ok()?;
    let mut words = line.split([' ', ',', '(', ')']);
    let all: u64 = words.next()?.parse().ok()?;
    let directories = words.skip_while(|word| *word != "dir:").nth(1).and_then(|n| n.parse().ok());
    all.checked_sub(directories.unwrap_or(0))
}

/// Lines of messages; what is more than are kept is read too, so that no one waits.
fn lines(mut errors: impl Read) -> Vec<String> {
    let mut bytes = Vec::new();
    let _ = errors.by_ref().take(MESSAGES).read_to_end(&mut bytes);
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&bytes).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The report of rsync on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Below the home; the home itself is empty.
    pub path: Vec<u8>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The sender's state; None where the receiver's is deleted.
    pub entry: Option<Entry>,
    pub(crate) differs: Differs,
}

/// How the receiver's differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Differs {
    /// Not at all.
    No,
    /// Only in what may be set without its content.
    Attributes,
    /// In its content, or there is none.
    Content,
}

impl Line {
    /// Reads a line; None for rsync's other words.
    fn parse(line: &[u8], with_hash: bool) -> Option<Line> {
        let (codes, rest) = line.strip_prefix(b"@")?.split_at_checked(CODES)?;
        let mut words = rest.strip_prefix(b" ")?.splitn(3, |byte| *byte == b' ');
        let mut text = || str::from_utf8(words.next()?).ok();
        let (size, mtime) = (text()?.parse().ok()?, text()?.to_owned());
        let mut name = words.next()?;
        let mut hash = None;
        if with_hash {
            let (sum, rest) = name.split_at_checked(HASH)?;
            hash = str::from_utf8(sum).ok().filter(|sum| sum.bytes().all(|b| b.is_ascii_hexdigit())).map(str::to_owned);
            name = rest.strip_prefix(b" ")?;
        }
        let name = unescaped(name);
        let path = name.strip_suffix(b"/").unwrap_or(&name);
        let is_dir = path.len() < name.len();
        let path = if path == b"." { Vec::new() } else { path.to_vec() };
        if codes.starts_with(b"*deleting") {
            return Some(Line { path, is_dir, entry: None, differs: Differs::Content });
        }
        let is_set = |codes: &[u8]| codes.iter().any(|code| !matches!(code, b'.' | b' '));
        // Checksum, size and time; a directory's are not its content.
        let differs = if codes.contains(&b'+') || is_set(&codes[2..5]) && codes[1] != b'd' {
            Differs::Content
        } else if is_set(&codes[2..]) {
            Differs::Attributes
        } else {
            Differs::No
        };
        Some(Line { path, is_dir, entry: Some(Entry { kind: codes[1], size, mtime, hash }), differs })
    }
}

/// A name with `\#ooo` for each byte that rsync does not print in the C locale.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, behind)) = rest.split_first() {
        let octal = rest.strip_prefix(b"\\#").and_then(|rest| str::from_utf8(rest.get(..3)?).ok());
        let octal = octal.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let octal = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &rest[5..] } else { behind };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of rsync 3.5.0.
    #[test]
    fn lines_of_rsync_are_read() {
        use Differs::{Attributes, Content, No};
        for (line, path, kind, expected) in [
            ("@<f.s....... 3 2026/11/29-10:02:34 d/chg", &b"d/chg"[..], b'f', Content),
            ("@<f+++++++++ 3 2026/11/29-10:02:34 new\\#012li ne", b"new\nli ne", b'f', Content),
            ("@<f+++++++++ 3 2026/11/29-10:02:34 back\\#134#012slash", b"back\\#012slash", b'f', Content),
            ("@<f+++++++++ 3 2026/11/29-10:02:34 \\#377\\#376", b"\xff\xfe", b'f', Content),
            ("@.d          3 2026/11/29-10:02:34 ./", b"", b'd', No),
            ("@.d..t...... 3 2026/11/29-10:02:34 a/", b"a", b'd', Attributes),
            ("@.f...p..... 3 2026/11/29-10:02:34 a", b"a", b'f', Attributes),
            ("@cLc........ 3 2026/11/29-10:02:34 lnk", b"lnk", b'L', Content),
        ] {
            let entry = Entry { kind, size: 3, mtime: "2026/11/29-10:02:34".to_owned(), hash: None };
            let (path, is_dir) = (path.to_vec(), kind == b'd');
            let expected = Line { path, is_dir, entry: Some(entry), differs: expected };
            assert_eq!(Line::parse(line.as_bytes(), false), Some(expected), "{line}");
        }
        let deleted = Line::parse(b"@*deleting   0 1970/01/01-00:00:00 gone/sub/", false).unwrap();
        assert_eq!(deleted, Line { path: b"gone/sub".to_vec(), is_dir: true, entry: None, differs: Content });
        assert_eq!(Line::parse(b"total size is 18  speedup is 0.04 (DRY RUN)", false), None);
        assert_eq!(Line::parse(b"@", false), None);
        for (sum, expected) in [("0123456789abcdef".repeat(2), true), (" ".repeat(HASH), false)] {
            let line = format!("@<f+++++++++ 2 2026/11/29-10:02:34 {sum} a b");
            let line = Line::parse(line.as_bytes(), true).unwrap();
            assert_eq!((line.path, line.entry.unwrap().hash), (b"a b".to_vec(), expected.then_some(sum)));
        }
        assert_eq!(files(b"Number of files: 7 (reg: 4, dir: 2, link: 1)"), Some(5));
        assert_eq!(files(b"Number of files: 0"), Some(0));
    }
}
