//! Access control: tokens, and sessions of those who logged in.

use std::{
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Mutex,
};

use fs_err as fs;
use subtle::ConstantTimeEq;

use crate::sessions::{Attempts, Sessions};

/// Tokens shorter than this can be guessed.
const SHORTEST: usize = 16;
/// Clients that have access.
#[derive(Debug)]
pub enum Access {
    /// Every client that reaches the address: loopback, or with a certificate that TLS demands.
    Open,
    /// Clients with a token.
    Tokens(Tokens),
}

/// The tokens of a file, kept as hashes.
#[derive(Debug)]
pub struct Tokens(Vec<(String, [u8; 32])>);

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
         `head -c 24 /dev/urandom | base64` makes one", .path.display()
    )]
    Weak {
        /// The file.
        path: PathBuf,
        /// Line from 1.
        line: usize,
    },
}

impl Tokens {
    /// Reads the file at `path`: a token a line, or `NAME TOKEN`, whose name the log then shows. Empty lines and
    /// those that begin with `#` say nothing.
    ///
    /// # Errors
    /// When it cannot be read, others may read it, or a token can be guessed.
    pub fn read(path: &Path) -> Result<Tokens, TokenError> {
        let tokens = lines(path)?.into_iter().map(|(name, token)| (name, *blake3::hash(token.as_bytes()).as_bytes()));
        Ok(Tokens(tokens.collect()))
    }

    /// Whose token it is. Takes as long for a wrong one as for a right one: hashes are compared, all of them,
    /// and to the end.
    pub fn who(&self, token: &str) -> Option<&str> {
        let given = blake3::hash(token.as_bytes());
        let mut found = None;
        for (name, hash) in &self.0 {
            if bool::from(hash.ct_eq(given.as_bytes())) {
                found = Some(name.as_str());
            }
        }
        found
    }
}

/// The first token of a file, for who has to show one.
///
/// # Errors
/// As [`Tokens::read`].
pub fn own_token(path: &Path) -> Result<String, TokenError> {
    let weak = || TokenError::Weak { path: path.to_owned(), line: 1 };
    lines(path)?.into_iter().next().map(|(_, token)| token).ok_or_else(weak)
}

/// Names and tokens of a file; there is at least one.
fn lines(path: &Path) -> Result<Vec<(String, String)>, TokenError> {
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
    let mut tokens = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (name, token) = match words.as_slice() {
            [token] => (format!("token{}", tokens.len() + 1), *token),
            [name, token] => ((*name).to_owned(), *token),
            _ => ("".to_owned(), ""),
        };
        if token.chars().count() < SHORTEST {
            return Err(TokenError::Weak { path: path.to_owned(), line: at + 1 });
        }
        tokens.push((name, token.to_owned()));
    }
    if tokens.is_empty() {
        return Err(TokenError::Weak { path: path.to_owned(), line: 1 });
    }
    Ok(tokens)
}

/// Who has come in: sessions and attempts.
#[derive(Default)]
pub(crate) struct Door {
    pub(crate) sessions: Mutex<Sessions>,
    pub(crate) attempts: Mutex<Attempts>,
}

/// Who asks, for the log.
#[derive(Clone, Debug)]
pub(crate) struct Who(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_is_read_and_its_faults_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let write = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Tokens::read(&path)
        };
        let tokens = write("# ours\nann 0123456789abcdef\n\nfedcba9876543210\n", 0o600).unwrap();
        assert_eq!(tokens.who("0123456789abcdef"), Some("ann"));
        assert_eq!(tokens.who("fedcba9876543210"), Some("token2"));
        assert_eq!(tokens.who("fedcba987654321"), None);
        assert!(write("0123456789abcdef", 0o640).unwrap_err().to_string().contains("chmod 600"));
        assert!(matches!(write("short", 0o600), Err(TokenError::Weak { line: 1, .. })));
        assert!(matches!(write("", 0o600), Err(TokenError::Weak { .. })));
    }
}
