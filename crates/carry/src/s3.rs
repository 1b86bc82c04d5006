//! S3-compatible storage: put, get, list and delete, each a signed request.

use std::{
    collections::BTreeMap,
    env,
    io::{self, Read},
    path::Path,
    time::Duration,
};

use fenxi_model::Micros;
use fs_err as fs;
use quick_xml::{Reader, events::Event};
use sha2::{Digest as _, Sha256};
use ureq::{
    Agent, Body, SendBody,
    http::{Request, Response, StatusCode},
};

use crate::{
    CarryError, Place,
    sign::{Credentials, Unsigned, encoded, hex, sha256},
};

/// Attempts at a request, when the storage cannot be reached or says that it is its own fault.
const ATTEMPTS: u32 = 4;
/// What is waited before the second attempt; each next time twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// The largest object that one request may bring.
const LARGEST: u64 = 5 << 30;
/// An error's text that is read.
const ERROR_TEXT: u64 = 16 << 10;

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
    now: fn() -> Micros,
}

/// What a request brings.
#[derive(Clone, Copy)]
enum Payload<'a> {
    None,
    Bytes(&'a [u8]),
    File(&'a Path),
}

impl S3 {
    /// With what the environment says, as the tools of AWS read it.
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
        let host = base.split_once("://").map_or(base.as_str(), |(_, rest)| rest).to_owned();
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(120)))
            .build();
        let bucket = bucket.to_owned();
        Ok(S3 { agent: config.into(), base, host, root, bucket, prefix, region, credentials, now })
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Asks, several times where that may help; `path` and `query` are encoded.
    fn ask(&self, method: &str, path: &str, query: &str, payload: Payload<'_>) -> Result<Response<Body>, CarryError> {
        let mut pause = PAUSE;
        for _ in 1..ATTEMPTS {
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

    fn refused(&self, method: &str, path: &str, response: Response<Body>) -> CarryError {
        let status = response.status();
        let mut text = String::new();
        // What cannot be read is not told.
        let _ = response.into_body().into_reader().take(ERROR_TEXT).read_to_string(&mut text);
        let said = [tag(&text, "Code"), tag(&text, "Message")].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let why = if said.is_empty() { status.to_string() } else { format!("{status}: {said}") };
        CarryError::Storage { what: format!("{method} {}{path}", self.base), why }
    }
}

impl Place for S3 {
    fn name(&self) -> String {
        format!("s3://{}/{}", self.bucket, self.prefix.trim_end_matches('/'))
    }

    fn list(&self, prefix: &str) -> Result<BTreeMap<String, u64>, CarryError> {
        let mut found = BTreeMap::new();
        let mut next: Option<String> = None;
        let path = if self.root.is_empty() { "/".to_owned() } else { self.root.clone() };
        loop {
            let token = next.as_ref().map(|t| format!("continuation-token={}&", encoded(t, b""))).unwrap_or_default();
            let query = format!("{token}list-type=2&prefix={}", encoded(&self.key(prefix), b""));
            let response = self.ask("GET", &path, &query, Payload::None)?;
            if !response.status().is_success() {
                return Err(self.refused("GET", &path, response));
            }
            let mut text = String::new();
            response.into_body().into_reader().read_to_string(&mut text)?;
            let page = Listing::parse(&text)
                .ok_or_else(|| CarryError::Storage { what: self.name(), why: "its list cannot be read".to_owned() })?;
            for (key, size) in page.objects {
                found.extend(key.strip_prefix(&self.prefix).map(|name| (name.to_owned(), size)));
            }
            match page.next {
                None => return Ok(found),
                next_token => next = next_token,
            }
        }
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

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CarryError> {
        let path = format!("{}/{}", self.root, encoded(&self.key(name), b"/"));
        let response = self.ask("GET", &path, "", Payload::None)?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => {
                let mut bytes = Vec::new();
                response.into_body().into_reader().read_to_end(&mut bytes)?;
                Ok(Some(bytes))
            }
            _ => Err(self.refused("GET", &path, response)),
        }
    }

    fn get_file(&self, name: &str, path: &Path) -> Result<(), CarryError> {
        let response = self.done("GET", name, Payload::None)?;
        io::copy(&mut response.into_body().into_reader(), &mut fs::File::create(path)?)?;
        Ok(())
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

/// One page of a list.
#[derive(Debug, Default, PartialEq)]
struct Listing {
    objects: Vec<(String, u64)>,
    next: Option<String>,
}

impl Listing {
    fn parse(text: &str) -> Option<Listing> {
        let mut reader = Reader::from_str(text);
        let (mut listing, mut key, mut at) = (Listing::default(), String::new(), String::new());
        let mut value = String::new();
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => {
                    at = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
                    value.clear();
                }
                Event::Text(text) => value += &text.decode().ok()?,
                Event::GeneralRef(name) => value += entity(&String::from_utf8_lossy(&name)),
                Event::End(end) => {
                    match end.local_name().as_ref() {
                        b"Key" if at == "Key" => key = std::mem::take(&mut value),
                        b"Size" if at == "Size" => listing.objects.push((key.clone(), value.trim().parse().ok()?)),
                        b"NextContinuationToken" => listing.next = Some(std::mem::take(&mut value)),
                        _ => {}
                    }
                    at.clear();
                }
                Event::Eof => return Some(listing),
                _ => {}
            }
        }
    }
}

fn entity(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

/// The text of the first element of that name.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once('<').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::Listing;

    #[test]
    fn a_list_is_read_with_its_next_page() {
        let text = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>b</Name><Prefix>p</Prefix>\
                    <Contents><Key>p/runs/run=a&amp;b/run.json</Key><ETag>&quot;e&quot;</ETag><Size>12</Size></Contents>\
                    <Contents><Key>p/x</Key><Size>0</Size></Contents><IsTruncated>true</IsTruncated>\
                    <NextContinuationToken>t/1=</NextContinuationToken></ListBucketResult>";
        let objects = vec![("p/runs/run=a&b/run.json".to_owned(), 12), ("p/x".to_owned(), 0)];
        assert_eq!(Listing::parse(text), Some(Listing { objects, next: Some("t/1=".to_owned()) }));
        assert_eq!(Listing::parse("<a><Key>k</Key><Size>x</Size></a>"), None);
    }
}
