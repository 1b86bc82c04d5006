//! S3-compatible storage: put, get, list and delete, each a signed request.

use std::{
    collections::BTreeMap,
    env, io,
    path::Path,
    time::{Duration, Instant},
};

use fenxi_model::Micros;
use fs_err as fs;
use sha2::{Digest as _, Sha256};
use ureq::{
    Agent, Body, SendBody,
    http::{Request, Response, StatusCode},
};

use crate::{
    CarryError, Place,
    fetch::{Body as Coming, Pace, Patience, Stopped, copy},
    list::Listing,
    place::{LARGEST as LARGEST_LISTED, MOST_NAMES, too_many},
    sign::{Credentials, Unsigned, encoded, hex, sha256},
};

/// Attempts at a request, when the storage cannot be reached or answers with a server error.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt; each next one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// The largest object that one request may bring.
const LARGEST: u64 = 5 << 30;
/// An error's text that is read.
const ERROR_TEXT: u64 = 16 << 10;
/// The longest page of a list: a thousand names of a kilobyte each, which may be written three times as long.
const PAGE: u64 = 8 << 20;
/// The most pages of a list: those of [`MOST_NAMES`], and as many that are not full.
const PAGES: usize = 2 * MOST_NAMES / 1000;
/// The most that all names of a list may have together.
const NAMES: usize = 128 << 20;

/// A bucket, and a prefix in it.
pub(crate) struct S3 {
    agent: Agent,
    /// `http://127.0.0.1:9000` or `https://bucket.s3.eu-central-1.amazonaws.com`.
    base: String,
    host: String,
    /// Before every key in the path: the bucket where the host does not name it.
    root: String,
    bucket: String,
    prefix: String,
    region: String,
    credentials: Credentials,
    patience: Patience,
    now: fn() -> Micros,
}

/// The body of a request.
#[derive(Clone, Copy)]
enum Payload<'a> {
    None,
    Bytes(&'a [u8]),
    File(&'a Path),
}

/// Where a bucket is, and what of it is meant.
pub(crate) struct At<'a> {
    /// See [`S3`].
    pub base: String,
    /// See [`S3`].
    pub root: String,
    pub bucket: &'a str,
    pub prefix: &'a str,
}

impl S3 {
    /// With the environment's settings, as the tools of AWS read it.
    pub(crate) fn from_environment(bucket: &str, prefix: &str, now: fn() -> Micros) -> Result<S3, CarryError> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let needed = |name| set(name).ok_or(CarryError::Credentials(name));
        let credentials = Credentials {
            key: needed("AWS_ACCESS_KEY_ID")?,
            secret: needed("AWS_SECRET_ACCESS_KEY")?,
            token: set("AWS_SESSION_TOKEN"),
        };
        let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")).unwrap_or_else(|| "us-east-1".to_owned());
        let endpoint = set("AWS_ENDPOINT_URL_S3").or_else(|| set("AWS_ENDPOINT_URL"));
        let (base, root) = match endpoint {
            Some(endpoint) => (endpoint.trim_end_matches('/').to_owned(), format!("/{bucket}")),
            None => (format!("https://{bucket}.s3.{region}.amazonaws.com"), String::new()),
        };
        let at = At { base, root, bucket, prefix };
        Ok(S3::new(at, region, credentials, Patience::default(), now))
    }

    pub(crate) fn new(
        At { base, root, bucket, prefix }: At<'_>,
        region: String,
        credentials: Credentials,
        patience: Patience,
        now: fn() -> Micros,
    ) -> S3 {
        let host = base.split_once("://").map_or(base.as_str(), |(_, rest)| rest).to_owned();
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(patience.silence))
            .timeout_per_read(Some(patience.silence))
            .timeout_per_write(Some(patience.silence))
            .build();
        let bucket = bucket.to_owned();
        S3 { agent: config.into(), base, host, root, bucket, prefix, region, credentials, patience, now }
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Asks, several times where that may help; `path` and `query` are encoded.
    fn ask(&self, method: &str, path: &str, query: &str, payload: Payload<'_>) -> Result<Response<Body>, CarryError> {
        let (mut pause, begun) = (PAUSE, Instant::now());
        for _ in 1..ATTEMPTS {
            // A server that has kept us waiting so long will do so again.
            if begun.elapsed() >= self.patience.silence {
                break;
            }
            match self.once(method, path, query, payload) {
                Ok(response) if !response.status().is_server_error() => return Ok(response),
                // A file that cannot be read here is no fault of the storage.
                Err(CarryError::Io(error)) => return Err(error.into()),
                _ => std::thread::sleep(pause),
            }
            pause *= 2;
        }
        self.once(method, path, query, payload)
    }

    fn once(&self, method: &str, path: &str, query: &str, payload: Payload<'_>) -> Result<Response<Body>, CarryError> {
        let (hash, length) = match payload {
            Payload::None => (sha256(b""), 0),
            Payload::Bytes(bytes) => (sha256(bytes), bytes.len() as u64),
            Payload::File(path) => hash_of(path)?,
        };
        // The storage compares what it receives with this hash: nothing arrives changed.
        let time = format!("{}Z", (self.now)().compact());
        let unsigned =
            Unsigned { method, host: &self.host, path, query, payload: &hash, time: &time, region: &self.region };
        let mark = if query.is_empty() { "" } else { "?" };
        let mut request = Request::builder().method(method).uri(format!("{}{path}{mark}{query}", self.base));
        for (name, value) in unsigned.headers(&self.credentials) {
            request = request.header(name, value);
        }
        let failed = |why: String| CarryError::Storage { what: format!("{method} {}{path}", self.base), why };
        let sent = match payload {
            Payload::None => self.agent.run(request.body(()).map_err(|e| failed(e.to_string()))?),
            Payload::Bytes(bytes) => {
                let request = request.header("content-length", length).body(bytes);
                self.agent.run(request.map_err(|e| failed(e.to_string()))?)
            }
            Payload::File(path) => {
                let mut file = fs::File::open(path)?;
                let request = request.header("content-length", length).body(SendBody::from_reader(&mut file));
                self.agent.run(request.map_err(|e| failed(e.to_string()))?)
            }
        };
        sent.map_err(|e| failed(e.to_string()))
    }

    /// The answer to a request that must succeed.
    fn done(&self, method: &str, name: &str, payload: Payload<'_>) -> Result<Response<Body>, CarryError> {
        let path = format!("{}/{}", self.root, encoded(&self.key(name), b"/"));
        let response = self.ask(method, &path, "", payload)?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(method, &path, response)) }
    }

    /// One page of the list.
    fn page(&self, token: Option<&str>, pace: &mut Pace) -> Result<Listing, CarryError> {
        let path = if self.root.is_empty() { "/".to_owned() } else { self.root.clone() };
        let token = token.map(|token| format!("continuation-token={}&", encoded(token, b""))).unwrap_or_default();
        let query = format!("{token}list-type=2&prefix={}", encoded(&self.prefix, b""));
        let response = self.ask("GET", &path, &query, Payload::None)?;
        if !response.status().is_success() {
            return Err(self.refused("GET", &path, response));
        }
        let mut text = Vec::new();
        match copy(&mut response.into_body().into_reader(), &mut text, PAGE, pace) {
            Ok(_) => {}
            Err(Stopped::Long) => return Err(self.no_list(&format!("a page of it has more than {PAGE} bytes"))),
            Err(Stopped::Read(e) | Stopped::Write(e)) => {
                return Err(self.no_list(&format!("it does not come whole: {e}")));
            }
        }
        let text = std::str::from_utf8(&text).map_err(|e| self.no_list(&format!("it is no text: {e}")))?;
        Listing::parse(text).map_err(|why| self.no_list(&why))
    }

    /// The error for a list that is none.
    fn no_list(&self, why: &str) -> CarryError {
        CarryError::Lie { place: self.name(), name: "its list of files".to_owned(), why: why.to_owned() }
    }

    fn refused(&self, method: &str, path: &str, response: Response<Body>) -> CarryError {
        let status = response.status();
        let mut text = Vec::new();
        // Unreadable entries are left out.
        let _ = copy(&mut response.into_body().into_reader(), &mut text, ERROR_TEXT, &mut Pace::new(self.patience));
        let text = String::from_utf8_lossy(&text);
        let message = [tag(&text, "Code"), tag(&text, "Message")].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let why = if message.is_empty() { status.to_string() } else { format!("{status}: {message}") };
        CarryError::Storage { what: format!("{method} {}{path}", self.base), why }
    }
}

impl Place for S3 {
    fn name(&self) -> String {
        format!("s3://{}/{}", self.bucket, self.prefix.trim_end_matches('/'))
    }

    fn patience(&self) -> Patience {
        self.patience
    }

    fn list(&self) -> Result<BTreeMap<String, u64>, CarryError> {
        let mut found = BTreeMap::new();
        let mut next: Option<String> = None;
        let (mut last, mut names) = (String::new(), 0);
        let mut pace = Pace::new(self.patience);
        for _ in 0..PAGES {
            let Listing { objects, next: token } = self.page(next.as_deref(), &mut pace)?;
            for (key, size) in objects {
                let Some(name) = key.strip_prefix(&self.prefix) else {
                    return Err(self.no_list(&format!("it has {key:?}, which does not begin with {:?}", self.prefix)));
                };
                if key <= last {
                    return Err(self.no_list(&format!("it has {key:?} after {last:?}, and names have to be in order")));
                }
                if size > LARGEST_LISTED {
                    return Err(self.no_list(&format!("{key:?} has {size} bytes in it")));
                }
                names += name.len();
                if found.len() >= MOST_NAMES || names > NAMES {
                    return Err(too_many(self));
                }
                found.insert(name.to_owned(), size);
                last = key;
            }
            match token {
                None => return Ok(found),
                Some(token) if next.as_ref() == Some(&token) => {
                    return Err(self.no_list("its next page is the same again"));
                }
                token => next = token,
            }
        }
        Err(self.no_list(&format!("it has more than {PAGES} pages")))
    }

    fn put_file(&self, name: &str, path: &Path) -> Result<(), CarryError> {
        if fs::metadata(path)?.len() > LARGEST {
            let why = "it has more than 5 GiB, the most that one request may bring".to_owned();
            return Err(CarryError::Storage { what: path.display().to_string(), why });
        }
        self.done("PUT", name, Payload::File(path)).map(drop)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CarryError> {
        self.done("PUT", name, Payload::Bytes(bytes)).map(drop)
    }

    fn open(&self, name: &str) -> Result<Option<Coming>, CarryError> {
        let path = format!("{}/{}", self.root, encoded(&self.key(name), b"/"));
        let response = self.ask("GET", &path, "", Payload::None)?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => {
                let body = response.into_body();
                let bytes = body.content_length();
                Ok(Some(Coming { reader: Box::new(body.into_reader()), bytes }))
            }
            _ => Err(self.refused("GET", &path, response)),
        }
    }

    fn delete(&self, name: &str) -> Result<(), CarryError> {
        self.done("DELETE", name, Payload::None).map(drop)
    }
}

/// The SHA-256 of a file, and its length.
fn hash_of(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let length = io::copy(&mut fs::File::open(path)?, &mut hasher)?;
    Ok((hex(&hasher.finalize()), length))
}

/// The text of the first element of that name.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once('<').map(|(value, _)| value)
}
