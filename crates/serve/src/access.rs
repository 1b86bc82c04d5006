//! Access control: tokens and what each may do, and sessions of those who logged in.

use std::{
    collections::BTreeSet,
    fmt, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fs_err as fs;
use subtle::ConstantTimeEq;

use crate::{
    rights::Role,
    sessions::{Attempts, Sessions},
};

/// Tokens shorter than this can be guessed.
const SHORTEST: usize = 16;
/// Prefix of a token that is in the file as its hash.
const HASHED: &str = "blake3:";

/// Clients that have access.
#[derive(Debug)]
pub enum Access {
    /// Every client that reaches the address: loopback, or with a certificate that TLS demands.
    Open,
    /// Clients with a token.
    Tokens(Tokens),
}

/// A token, known by its hash, and what it may do.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    /// Whose it is: a name for the log and for labels.
    pub name: String,
    /// Its permissions.
    pub role: Role,
    /// The projects whose runs are all that it sees; None: it sees all runs.
    pub projects: Option<BTreeSet<String>>,
    /// BLAKE3 of the token.
    pub(crate) hash: [u8; 32],
}

/// The tokens of a file, kept as hashes. A file that changes is read again: who was removed from it has access no longer.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    read: Mutex<Read>,
}

/// Tokens read from the file, and the state of the file then.
#[derive(Debug)]
struct Read {
    stamp: Option<Stamp>,
    tokens: Arc<[Arc<Token>]>,
    /// Why it cannot be read now: then no one has access.
    wrong: Option<String>,
    /// The same, until it was reported.
    news: Option<String>,
}

/// Inode, size, and times of change in nanoseconds.
type Stamp = (u64, u64, (i64, i64), (i64, i64));

/// Errors of a token file.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Others may read it.
    #[error("{}: other users may read this file (mode {mode:03o}); run `chmod 600 {}`", .path.display(), .path.display())]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It holds no token, or one that can be guessed.
    #[error(
        "{}: line {line}: a token has at least {SHORTEST} characters and no blank; \
         `fenxi serve token add NAME` makes one", .path.display()
    )]
    Weak {
        /// The file.
        path: PathBuf,
        /// Line from 1.
        line: usize,
    },
    /// A line that is none.
    #[error("{}: line {line}: {why}; a line is `TOKEN`, or `NAME TOKEN [reader|writer|admin] [PROJECT,...]`", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// It holds hashes, from which no token can be had.
    #[error("{}: it has no token in clear to show to a server, only hashes; give a file with the token itself", .0.display())]
    Hashed(PathBuf),
}

impl Token {
    /// A new token of random bits, and its text, which is kept nowhere else; None when there are no random numbers.
    pub fn new(name: &str, role: Role, projects: Option<BTreeSet<String>>) -> Option<(Token, String)> {
        let text = Some(crate::sessions::random_word()).filter(|word| !word.is_empty())?;
        Some((Token { name: name.to_owned(), role, projects, hash: hash(&text) }, text))
    }
}

/// As a line of a token file.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {HASHED}{} {}", self.name, blake3::Hash::from_bytes(self.hash).to_hex(), self.role)?;
        let projects: Vec<&str> = self.projects.iter().flatten().map(String::as_str).collect();
        if projects.is_empty() { Ok(()) } else { write!(f, " {}", projects.join(",")) }
    }
}

impl Read {
    fn of(lines: Vec<Line>, stamp: Option<Stamp>) -> Read {
        Read { stamp, tokens: lines.into_iter().map(|line| Arc::new(line.token)).collect(), wrong: None, news: None }
    }
}

impl Tokens {
    /// Reads the file at `path`: a token a line, or `NAME TOKEN`, whose name the log then shows, and perhaps its role and its
    /// projects; without a role it may do all. A token is there in clear, or as `blake3:` and its hash. Empty lines and those
    /// that begin with `#` say nothing.
    ///
    /// # Errors
    /// When it cannot be read, others may read it, or a token can be guessed.
    pub fn read(path: &Path) -> Result<Tokens, TokenError> {
        let (lines, stamp) = lines(path)?;
        Ok(Tokens { path: path.to_owned(), read: Mutex::new(Read::of(lines, stamp)) })
    }

    /// Current content of the file.
    fn now(&self) -> MutexGuard<'_, Read> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // Something that is no file, such as a pipe, can be read only once.
        let is_once = read.stamp.is_none() && read.wrong.is_none();
        let stamp = || fs::metadata(&self.path).ok().map(|meta| stamp_of(&meta));
        if is_once || read.stamp.is_some() && stamp() == read.stamp {
            return read;
        }
        *read = match lines(&self.path) {
            Ok((lines, stamp)) => Read::of(lines, stamp),
            Err(error) => {
                let wrong = Some(format!("no token is valid until the file can be read: {error}"));
                let news = if wrong == read.wrong { read.news.take() } else { wrong.clone() };
                Read { stamp: None, tokens: Arc::from([]), wrong, news }
            }
        };
        read
    }

    /// The fault of the file, reported once.
    pub(crate) fn problem(&self) -> Option<String> {
        self.now().news.take()
    }

    /// Whose token it is. Takes as long for a wrong one as for a right one: hashes are compared, all of them,
    /// and to the end.
    pub(crate) fn of(&self, token: &str) -> Option<Arc<Token>> {
        self.of_hash(&hash(token))
    }

    /// The token with this hash, if it is still there.
    pub(crate) fn of_hash(&self, hash: &[u8; 32]) -> Option<Arc<Token>> {
        let mut found = None;
        for token in &*self.now().tokens {
            if bool::from(token.hash.ct_eq(hash)) {
                found = Some(Arc::clone(token));
            }
        }
        found
    }

    /// The name of the token, where it may do all.
    pub fn who(&self, token: &str) -> Option<String> {
        self.of(token).filter(|token| token.role == Role::Admin).map(|token| token.name.clone())
    }
}

/// The first token of a file that is there in clear, for who has to show one.
///
/// # Errors
/// As [`Tokens::read`].
pub fn own_token(path: &Path) -> Result<String, TokenError> {
    let clear = lines(path)?.0.into_iter().find_map(|line| line.clear);
    clear.ok_or_else(|| TokenError::Hashed(path.to_owned()))
}

/// The tokens of a file, in its order.
///
/// # Errors
/// As [`Tokens::read`].
pub fn tokens_of(path: &Path) -> Result<Vec<Token>, TokenError> {
    Ok(lines(path)?.0.into_iter().map(|line| line.token).collect())
}

fn hash(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
}

fn stamp_of(meta: &std::fs::Metadata) -> Stamp {
    (meta.ino(), meta.size(), (meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()))
}

/// A line of a token file.
struct Line {
    token: Token,
    /// The token, where it is there in clear.
    clear: Option<String>,
}

/// The lines of a file, of which there is at least one, and what the file was; None of what is no file.
fn lines(path: &Path) -> Result<(Vec<Line>, Option<Stamp>), TokenError> {
    let file = fs::File::open(path)?;
    let meta = file.metadata()?;
    let mode = meta.permissions().mode() & 0o777;
    // The group of a secret that systemd hands over is the mask of its access list, and no group's right.
    let handed_over = std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|dir| path.starts_with(dir));
    let others = if handed_over { 0o007 } else { 0o077 };
    if meta.is_file() && mode & others != 0 {
        return Err(TokenError::Readable { path: path.to_owned(), mode });
    }
    let text = io::read_to_string(file)?;
    let mut found: Vec<Line> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')) {
        found.push(parsed(line, found.len() + 1).map_err(|why| match why {
            None => TokenError::Weak { path: path.to_owned(), line: at + 1 },
            Some(why) => TokenError::Line { path: path.to_owned(), line: at + 1, why },
        })?);
    }
    if found.is_empty() {
        return Err(TokenError::Weak { path: path.to_owned(), line: 1 });
    }
    Ok((found, meta.is_file().then(|| stamp_of(&meta))))
}

/// A line, the `nth` of the file; an error without a text is a token that can be guessed. No text has a token in it.
fn parsed(line: &str, nth: usize) -> Result<Line, Option<String>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (name, token, rest) = match words.as_slice() {
        [token] => (format!("token{nth}"), *token, &[][..]),
        [name, token, rest @ ..] => ((*name).to_owned(), *token, rest),
        [] => return Err(None),
    };
    let (hash, clear) = match token.strip_prefix(HASHED) {
        Some(hex) => {
            let hash =
                blake3::Hash::from_hex(hex).map_err(|_| Some(format!("`{HASHED}` is not followed by a hash")))?;
            (*hash.as_bytes(), None)
        }
        None if token.chars().count() < SHORTEST => return Err(None),
        None => (hash(token), Some(token.to_owned())),
    };
    let (role, projects) = match rest {
        [] => (Role::Admin, None),
        [role, projects @ ..] if projects.len() < 2 => {
            let role = role.parse().map_err(|()| Some("the role is none of reader, writer, admin".to_owned()))?;
            (role, projects.first().map(|all| all.split(',').map(str::to_owned).collect::<BTreeSet<_>>()))
        }
        _ => return Err(Some("it has more than four words".to_owned())),
    };
    if projects.iter().flatten().any(String::is_empty) {
        return Err(Some("a project has no name".to_owned()));
    }
    if role == Role::Admin && projects.is_some() {
        return Err(Some("an admin has all projects".to_owned()));
    }
    Ok(Line { token: Token { name, role, projects, hash }, clear })
}

/// Who has come in: sessions and attempts.
#[derive(Default)]
pub(crate) struct Door {
    pub(crate) sessions: Mutex<Sessions>,
    pub(crate) attempts: Mutex<Attempts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, text: &str, mode: u32) -> Result<Tokens, TokenError> {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        Tokens::read(path)
    }

    #[test]
    fn a_token_file_is_read_and_its_faults_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let write = |text: &str, mode: u32| file(&path, text, mode);
        let tokens = write("# ours\nann 0123456789abcdef\n\nfedcba9876543210\n", 0o600).unwrap();
        assert_eq!(tokens.who("0123456789abcdef").as_deref(), Some("ann"));
        assert_eq!(tokens.who("fedcba9876543210").as_deref(), Some("token2"));
        assert_eq!(tokens.who("fedcba987654321"), None);
        assert!(write("0123456789abcdef", 0o640).unwrap_err().to_string().contains("chmod 600"));
        assert!(matches!(write("short", 0o600), Err(TokenError::Weak { line: 1, .. })));
        assert!(matches!(write("", 0o600), Err(TokenError::Weak { .. })));
        let secret = "0123456789abcdef-secret";
        for (line, why) in [
            (format!("ann {secret} boss"), "the role is none of"),
            (format!("ann {secret} admin shop"), "an admin has all"),
            (format!("ann {secret} reader a,,b"), "no name"),
            (format!("ann {secret} reader a b"), "more than four"),
            ("ann blake3:12ab reader".to_owned(), "not followed by a hash"),
        ] {
            let error = write(&format!("\n{line}\n"), 0o600).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("line 2") && !error.contains(secret), "{error}");
        }
    }

    #[test]
    fn a_new_token_is_in_the_file_as_its_hash_alone_with_what_it_may_do() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let projects = BTreeSet::from(["shop".to_owned(), "bank".to_owned()]);
        let (token, text) = Token::new("ann", Role::Writer, Some(projects)).unwrap();
        let line = token.to_string();
        assert!(text.len() == 64 && !line.contains(&text) && line.ends_with(" writer bank,shop"), "{line}");
        let tokens = file(&path, &format!("{line}\n"), 0o600).unwrap();
        assert_eq!(*tokens.of(&text).unwrap(), token);
        // The hash is no token, and who has to show one finds none.
        assert!(tokens.of(&line).is_none() && tokens.of(line.split(' ').nth(1).unwrap()).is_none());
        assert!(tokens.who(&text).is_none(), "it may not do all");
        assert!(matches!(own_token(&path), Err(TokenError::Hashed(_))));
    }

    #[test]
    fn who_is_removed_from_the_file_has_access_no_longer_and_a_file_that_is_broken_admits_no_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let (ann, bob) = ("ann 0123456789abcdef\n", "bob fedcba9876543210 reader\n");
        let tokens = file(&path, &format!("{ann}{bob}"), 0o600).unwrap();
        assert!(tokens.of("0123456789abcdef").is_some() && tokens.of("fedcba9876543210").is_some());
        fs::write(&path, ann).unwrap();
        assert!(tokens.of("0123456789abcdef").is_some() && tokens.of("fedcba9876543210").is_none());
        for broken in ["ann 0123456789abcdef boss\n", ""] {
            fs::write(&path, broken).unwrap();
            assert!(tokens.problem().unwrap().contains("line 1"), "it is reported");
            assert!(tokens.problem().is_none() && tokens.of("0123456789abcdef").is_none(), "once");
        }
        fs::remove_file(&path).unwrap();
        assert!(tokens.of("0123456789abcdef").is_none());
        fs::write(&path, bob).unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(tokens.of("fedcba9876543210").is_some());
    }
}
