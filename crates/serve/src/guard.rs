//! Request checks and security headers of every response.
//!
//! * The `Host` of a request to a loopback address must be one of this machine's own names: a page elsewhere whose
//!   name is made to point here (DNS rebinding) cannot ask.
//! * What changes something, and what is asked by a page, must come from this server's own pages: a request with an
//!   `Origin` must have this server's.
//! * Responses allow a browser nothing but this server's own files.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{
    peer::{Peer, is_loopback},
    reply::Failure,
    shared::Shared,
};

/// Scripts and styles from this server, pictures also from the page itself (copies of charts); no frames, no other
/// servers, no inline script. Charts set styles one by one through the DOM, which no policy forbids.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// What every response says besides the policy.
const HEADERS: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The header without which nothing is changed: a form cannot send it, and a script of another origin may not.
const OURS: &str = "x-fenxi";

/// A word that is good for one response.
pub(crate) struct Nonce(String);

impl Nonce {
    pub(crate) fn new() -> Nonce {
        Nonce(crate::sessions::random_word())
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Allows the page style elements that carry `nonce`: the SQL editor (CodeMirror) makes its styles while it runs.
pub(crate) fn allow_style(response: &mut Response, nonce: &Nonce) {
    let policy = POLICY.replace("style-src 'self'", &format!("style-src 'self' 'nonce-{nonce}'"));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// Says to the browser what it may do with a response.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let head = response.headers_mut();
    for (name, value) in HEADERS {
        head.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    head.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    response
}

/// Turns away what another site's page asks.
pub(crate) async fn origin(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    match check(&shared, &request) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

fn check(shared: &Shared, request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    let host = host(request)?;
    let peer = request.extensions().get::<Peer>();
    if peer.is_none_or(|p| is_loopback(p.local.ip())) && !is_own(shared, &host) {
        return Err(Failure::forbidden(format!(
            "`{}` is no name of this server; `fenxi serve --host NAME` adds one",
            host.text.escape_debug()
        )));
    }
    let path = request.uri().path();
    // A browser says so of every request that a page makes; what it says besides these two is of another page.
    let sites = headers.get_all("sec-fetch-site").iter();
    let elsewhere = sites.into_iter().any(|site| site != "same-origin" && site != "none");
    if elsewhere && (path.starts_with("/api/") || path == "/metrics") {
        return Err(Failure::forbidden("pages of other sites may not ask this server"));
    }
    // Programs send none, nor do browsers for what people open themselves; what has one is asked by a page. A form of a
    // page that tells no referrer has `null`, and then the browser says whose it is.
    let is_told = !elsewhere && headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin");
    let foreign = |origin: &HeaderValue| !(is_ours(shared, &host, origin) || is_told && origin == "null");
    if headers.get_all(header::ORIGIN).iter().any(foreign) {
        return Err(Failure::forbidden("only this server's own pages may ask it; this `Origin` is another"));
    }
    if is_reading(request.method()) {
        return Ok(());
    }
    if elsewhere {
        return Err(Failure::forbidden("only this server's own pages may change something"));
    }
    let is_form = ["/login", "/logout"].contains(&path);
    if !is_form && headers.get(OURS).is_none_or(|value| value != "1") {
        return Err(Failure::forbidden("what changes something needs the header `X-Fenxi: 1`"));
    }
    Ok(())
}

fn is_reading(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

/// Whether `origin` is that of this server's pages. A proxy that encrypts changes what is before the name.
fn is_ours(shared: &Shared, host: &Host, origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(|o| o.strip_prefix("http://").or_else(|| o.strip_prefix("https://")));
    let Some(named) = origin.and_then(Host::parse) else { return false };
    named.text == host.text || is_named(shared, &named)
}

/// The host that a request names.
#[derive(Debug, PartialEq, Eq)]
struct Host {
    /// In lower case, with the port if there is one.
    text: String,
    /// Length of the name before the port.
    name: usize,
}

impl Host {
    /// None when it is no name or address with a port or none.
    fn parse(text: &str) -> Option<Host> {
        let text = text.to_ascii_lowercase();
        let name = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, _) = rest.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                address.len() + 2
            }
            None => {
                let name = text.split(':').next()?;
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
                (!name.is_empty() && name.bytes().all(plain)).then_some(name.len())?
            }
        };
        let port = &text[name..];
        let is_port = |p: &str| p.bytes().all(|b| b.is_ascii_digit()) && p.parse::<u16>().is_ok();
        let is_whole = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        is_whole.then_some(Host { text, name })
    }

    fn name(&self) -> &str {
        &self.text[..self.name]
    }
}

/// The host that a request names: once, or the same one twice.
fn host(request: &Request) -> Result<Host, Failure> {
    let wrong = |why: &str| Failure::wrong(format!("{why}; a request names one host, as `Host: 127.0.0.1:7070`"));
    // HTTP/2 has it in the address, and so may HTTP/1 on the way to a proxy.
    let address = request.uri().authority().map(|a| Host::parse(a.as_str()));
    let headers = request.headers().get_all(header::HOST).iter();
    let mut named: Vec<Option<Host>> = headers.map(|h| h.to_str().ok().and_then(Host::parse)).collect();
    if named.len() > 1 {
        return Err(wrong("there are several `Host` headers"));
    }
    named.extend(address);
    let mut named = named.into_iter();
    match (named.next(), named.next()) {
        (None, _) if request.version() == Version::HTTP_10 => Err(Failure::forbidden("the request names no host")),
        (None, _) => Err(wrong("the request names no host")),
        (Some(None), _) | (_, Some(None)) => Err(wrong("the host is neither a name nor an address")),
        (Some(Some(one)), Some(Some(other))) if one != other => Err(wrong("`Host` and the address differ")),
        (Some(Some(one)), _) => Ok(one),
    }
}

/// Whether `host` names this machine's loopback or a name that the server was told.
fn is_own(shared: &Shared, host: &Host) -> bool {
    let name = host.name();
    let address = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    address.parse::<IpAddr>().is_ok_and(is_loopback) || name == "localhost" || is_named(shared, host)
}

fn is_named(shared: &Shared, host: &Host) -> bool {
    let is = |name: &String| name.eq_ignore_ascii_case(host.name()) || name.eq_ignore_ascii_case(&host.text);
    shared.settings.names.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::Host;

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        let name = |text: &str| Host::parse(text).map(|host| host.name().to_owned());
        assert_eq!(name("LocalHost:7070").as_deref(), Some("localhost"));
        assert_eq!(name("[::1]:80").as_deref(), Some("[::1]"));
        assert_eq!(name("[::1]").as_deref(), Some("[::1]"));
        assert_eq!(name("a.example").as_deref(), Some("a.example"));
        for wrong in [
            "",
            ":",
            ":80",
            "a:",
            "a:x",
            "a:1:2",
            "a:65536",
            "a:+1",
            "::1",
            "[::1]]]",
            "[::1",
            "[]",
            "[::1]80",
            "[127.0.0.1]",
            "[::1%25lo]",
            "a b",
            "a/b",
            "a@b",
            "\u{e9}",
            "a,b",
        ] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }
}
