//! What every request is checked for, and what every response says to the browser.
//!
//! * The `Host` of a request to a loopback address must be one of this machine's own names: a page elsewhere whose
//!   name is made to point here (DNS rebinding) cannot ask.
//! * What changes something, and what is asked by a page, must come from this server's own pages.
//! * Responses allow a browser nothing but this server's own files.

use std::fmt;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{
    app::Shared,
    listen::{Peer, is_loopback},
    reply::Failure,
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
    let host = host(request);
    let peer = request.extensions().get::<Peer>();
    if peer.is_none_or(|p| is_loopback(p.local.ip())) && !is_own(shared, &host) {
        return Err(Failure::forbidden(format!(
            "`{}` is no name of this server; `fenxi serve --host NAME` adds one",
            host.escape_debug()
        )));
    }
    let path = request.uri().path();
    let site = text(headers, "sec-fetch-site");
    let elsewhere = ["cross-site", "same-site"].contains(&site);
    if elsewhere && (path.starts_with("/api/") || path == "/metrics") {
        return Err(Failure::forbidden("pages of other sites may not ask this server"));
    }
    if is_reading(request.method()) {
        return Ok(());
    }
    let origin = text(headers, "origin");
    let ours = origin.split_once("://").is_some_and(|(_, o)| o.eq_ignore_ascii_case(&host) || is_named(shared, o));
    if elsewhere || !(origin.is_empty() || ours) {
        return Err(Failure::forbidden("only this server's own pages may change something"));
    }
    let is_form = ["/login", "/logout"].contains(&path);
    if !is_form && text(headers, OURS) != "1" {
        return Err(Failure::forbidden("what changes something needs the header `X-Fenxi: 1`"));
    }
    Ok(())
}

fn is_reading(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// The host that a request names, with its port.
pub(crate) fn host(request: &Request) -> String {
    // HTTP/2 has it in the address.
    let address = request.uri().authority().map(|a| a.as_str().to_owned());
    address.unwrap_or_else(|| text(request.headers(), "host").to_owned())
}

/// Whether `host` names this machine's loopback or a name that the server was told.
fn is_own(shared: &Shared, host: &str) -> bool {
    let name = without_port(host);
    let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost") || is_named(shared, host)
}

fn is_named(shared: &Shared, host: &str) -> bool {
    let name = without_port(host);
    shared.settings.names.iter().any(|n| n.eq_ignore_ascii_case(name) || n.eq_ignore_ascii_case(host))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::without_port;

    #[test]
    fn a_port_is_told_from_an_address() {
        assert_eq!(without_port("localhost:7070"), "localhost");
        assert_eq!(without_port("[::1]:80"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
        assert_eq!(without_port("a.example"), "a.example");
    }
}
