//! Authentication: tokens, the login page, bearer tokens.

use std::{
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use axum::{
    body::to_bytes,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use fenxi_report::api::Query;
use fs_err as fs;
use subtle::ConstantTimeEq;

use crate::{
    app::Shared,
    assets,
    listen::Peer,
    pages,
    reply::Failure,
    sessions::{Attempts, LONGEST, Sessions},
};

/// Tokens shorter than this can be guessed.
const SHORTEST: usize = 16;
/// Bytes of a filled-in login form.
const FORM: usize = 8 << 10;

/// Who may come in.
#[derive(Debug)]
pub enum Access {
    /// Every client that reaches the address: loopback, or with a certificate that TLS demands.
    Open,
    /// Who has a token.
    Tokens(Tokens),
}

/// The tokens of a file, kept as hashes.
#[derive(Debug)]
pub struct Tokens(Vec<(String, [u8; 32])>);

/// Why a token file is of no use.
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
    sessions: Mutex<Sessions>,
    attempts: Mutex<Attempts>,
}

/// Who asks, for the log.
#[derive(Clone, Debug)]
pub(crate) struct Who(pub(crate) String);

/// Lets in who has a token; who has none is shown the login page, or gets an error.
pub(crate) async fn enter(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let Access::Tokens(tokens) = &shared.settings.access else {
        let who = request.extensions().get::<Peer>().and_then(|p| p.certificate.clone());
        return named(who, next.run(request).await);
    };
    // The front end's program is no secret, and the login page needs its style.
    if path.starts_with(assets::FOLDER) || path == "/login" || path == "/logout" {
        return next.run(request).await;
    }
    let secret = cookie(request.headers(), &shared.cookie);
    let mut who = secret.and_then(|s| locked(&shared.door.sessions).who(s, Instant::now()));
    if who.is_none()
        && let Some(token) = bearer(request.headers())
    {
        who = match attempt(&shared, tokens, &request, token) {
            Ok(who) => Some(who),
            Err(failure) => return failure.into_response(),
        };
    }
    match who {
        Some(who) => named(Some(who), next.run(request).await),
        None => ask_in(&request),
    }
}

fn named(who: Option<String>, mut response: Response) -> Response {
    if let Some(who) = who {
        response.extensions_mut().insert(Who(who));
    }
    response
}

/// The answer to a client without a session: pages lead to the login page, programs get an error.
fn ask_in(request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let is_page = request.method() == Method::GET && pages::is_page(request.uri().path());
    if !is_page {
        let mut response =
            Failure::new(StatusCode::UNAUTHORIZED, "log in, or send a token as a bearer").into_response();
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    if request.headers().get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return pages::bounce(path);
    }
    let next = Query::of([("next".to_owned(), path.to_owned())]).text();
    pages::see(&format!("/login?{next}"))
}

/// Whose token it is, unless its sender was wrong too often.
fn attempt(shared: &Shared, tokens: &Tokens, request: &Request, token: &str) -> Result<String, Failure> {
    let address = request.extensions().get::<Peer>().map_or([0, 0, 0, 0].into(), |p| p.address.ip());
    let mut attempts = locked(&shared.door.attempts);
    if !attempts.may(address, Instant::now()) {
        return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute"));
    }
    let who = tokens.who(token).map(str::to_owned);
    who.ok_or_else(|| {
        attempts.wrong(address);
        Failure::new(StatusCode::UNAUTHORIZED, "this is not the token")
    })
}

/// `GET /login`.
pub(crate) async fn page(State(shared): State<Shared>, request: Request) -> Response {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    match shared.settings.access {
        Access::Open => pages::see("/"),
        Access::Tokens(_) => pages::login(&shared.assets, StatusCode::OK, next_path(&query), None),
    }
}

/// `POST /login`: the filled-in form.
pub(crate) async fn login(State(shared): State<Shared>, request: Request) -> Response {
    let Access::Tokens(tokens) = &shared.settings.access else { return pages::see("/") };
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, FORM).await else {
        return Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large").into_response();
    };
    let form = Query::parse(&String::from_utf8_lossy(&body));
    let request = Request::from_parts(head, ().into());
    let next = next_path(&form);
    match attempt(&shared, tokens, &request, form.get("token").unwrap_or_default().trim()) {
        Ok(who) => {
            let Some(secret) = locked(&shared.door.sessions).begin(&who, Instant::now()) else {
                return Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "there are no random numbers").into_response();
            };
            let mut response = named(Some(who), pages::see(next));
            set_cookie(&shared, &mut response, &request, &secret, LONGEST.as_secs());
            response
        }
        Err(failure) => {
            let limited = failure.into_response().status() == StatusCode::TOO_MANY_REQUESTS;
            let (status, said) = if limited {
                (StatusCode::TOO_MANY_REQUESTS, "There were too many wrong tokens. Wait a minute.")
            } else {
                (StatusCode::UNAUTHORIZED, "This is not the token.")
            };
            pages::login(&shared.assets, status, next, Some(said))
        }
    }
}

/// `POST /logout`.
pub(crate) async fn logout(State(shared): State<Shared>, request: Request) -> Response {
    if let Some(secret) = cookie(request.headers(), &shared.cookie) {
        locked(&shared.door.sessions).end(secret);
    }
    let mut response = pages::see("/login");
    set_cookie(&shared, &mut response, &request, "", 0);
    response
}

/// Where to go after the login: a path of this server and nothing else.
fn next_path(query: &Query) -> &str {
    let path = query.get("next").unwrap_or("/");
    let is_here = path.starts_with('/') && !path[1..].starts_with(['/', '\\']) && path.bytes().all(|b| b > b' ');
    if is_here { path } else { "/" }
}

fn set_cookie(shared: &Shared, response: &mut Response, request: &Request, secret: &str, age_s: u64) {
    // A proxy that encrypts shows in where the form was sent from.
    let origin = request.headers().get(header::ORIGIN).and_then(|o| o.to_str().ok()).unwrap_or_default();
    let secure = if shared.settings.tls.is_some() || origin.starts_with("https://") { "; Secure" } else { "" };
    let cookie = format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age_s}{secure}", shared.cookie);
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    all.flat_map(|v| v.split(';')).find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_on_leads_nowhere_else() {
        let next = |text: &str| next_path(&Query::of([("next".to_owned(), text.to_owned())])).to_owned();
        assert_eq!(next("/run?run=a"), "/run?run=a");
        for foreign in ["//evil.example", "/\\evil.example", "https://evil.example", "run", "/a\r\nSet-Cookie: x"] {
            assert_eq!(next(foreign), "/", "{foreign:?}");
        }
    }

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
