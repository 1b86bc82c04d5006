//! Request log: one line per request, written when its last byte was sent or its client has gone.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{MatchedPath, Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};
use hyper::body::{Frame, SizeHint};

use fenxi_api::Query;
use fenxi_model::is_secret_parameter;

use crate::{Access, peer::Peer, rights::Asker, shared::Shared};

/// Status that is logged when the sender went before there was an answer.
const GONE: u16 = 499;
/// Characters of an address that the log keeps.
const LONGEST: usize = 1000;

/// Writes the line, and counts the request.
pub(crate) async fn watch(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>();
    let mut entry = Entry {
        peer: peer.map_or_else(|| "-".to_owned(), |p| p.address.ip().to_string()),
        // Every path that does not exist is one endpoint, or anybody could make endless many.
        endpoint: request.extensions().get::<MatchedPath>().map_or("other", |p| known(p.as_str())).to_owned(),
        method: request.method().clone(),
        target: request.uri().path_and_query().map_or_else(String::new, |p| shown(&shared, p.as_str())),
        begun: Instant::now(),
        status: GONE,
        bytes: 0,
        who: "-".to_owned(),
        shared,
    };
    let response = next.run(request).await;
    entry.status = response.status().as_u16();
    if let Some(who) = response.extensions().get::<Asker>().and_then(Asker::name) {
        who.clone_into(&mut entry.who);
    }
    entry.shared.metrics.answered(&entry.endpoint, entry.status, entry.begun.elapsed());
    response.map(|body| Body::new(Logged { body, entry }))
}

/// An address as the log shows it, without secrets: what is called like one, and what is one. Somebody who takes an
/// address for the way to log in must not find their token in a file.
fn shown(shared: &Shared, target: &str) -> String {
    let is_token = |text: &str| matches!(&shared.settings.access, Access::Tokens(tokens) if tokens.of(text).is_some());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let hidden = |part: &str| if is_token(&decoded(part)) { HIDDEN.to_owned() } else { part.to_owned() };
    let mut out = path.split('/').map(hidden).collect::<Vec<_>>().join("/");
    if target.len() > path.len() {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if is_secret(name) || is_token(&decoded(value)) => format!("{name}={HIDDEN}"),
            // An address within an address, as the login page has it.
            Some((name, value))
                if wholly(value).split(['?', '&']).filter_map(|p| p.split_once('=')).any(|(n, _)| is_secret(n)) =>
            {
                format!("{name}={HIDDEN}")
            }
            _ => hidden(pair),
        };
        out.push('?');
        out += &query.split('&').map(pair).collect::<Vec<_>>().join("&");
    }
    out
}

/// Replaces a secret in the log.
const HIDDEN: &str = "[hidden]";

/// Whether the name of a value marks it as a secret.
fn is_secret(name: &str) -> bool {
    let name = wholly(name);
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.[]".contains(&b));
    is_name && is_secret_parameter(&name)
}

/// Text as a query means it.
fn decoded(text: &str) -> String {
    let query = Query::parse(&format!("a={}", text.replace('&', "%26")));
    query.get("a").unwrap_or(text).to_owned()
}

/// Text that may have been encoded several times.
fn wholly(text: &str) -> String {
    let mut text = decoded(text);
    for _ in 0..3 {
        text = decoded(&text);
    }
    text
}

fn known(path: &str) -> &str {
    if path.contains('*') { "other" } else { path }
}

struct Entry {
    shared: Shared,
    peer: String,
    endpoint: String,
    method: Method,
    target: String,
    begun: Instant,
    status: u16,
    bytes: u64,
    who: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.status == GONE {
            self.shared.metrics.answered(&self.endpoint, GONE, self.begun.elapsed());
        }
        let ms = self.begun.elapsed().as_secs_f64() * 1e3;
        let line = format!(
            "{} {} {} {} {} {ms:.1} {} {}",
            (self.shared.settings.now)().iso(),
            self.peer,
            clean(self.method.as_str()),
            clean(&self.target),
            self.status,
            self.bytes,
            clean(&self.who),
        );
        (self.shared.settings.audit)(&line);
    }
}

/// Text that stays on its line and has no control sequences.
fn clean(text: &str) -> String {
    let cut = text.chars().take(LONGEST);
    let mut out = String::with_capacity(text.len());
    for c in cut {
        if c.is_control() || c == ' ' || c == '\\' || !c.is_ascii() {
            out.extend(c.escape_unicode())
        } else {
            out.push(c)
        }
    }
    if out.is_empty() { "-".to_owned() } else { out }
}

/// A body that counts what has gone, and whose end writes the line.
struct Logged {
    body: Body,
    entry: Entry,
}

impl HttpBody for Logged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.entry.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The status of a request whose sender has gone is no status of HTTP.
const _: () = assert!(StatusCode::REQUEST_TIMEOUT.as_u16() != GONE);

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn what_would_break_a_line_is_written_out() {
        assert_eq!(clean("/a?b=c"), "/a?b=c");
        assert_eq!(clean("a\nb\u{1b}[31m"), "a\\u{a}b\\u{1b}[31m");
        assert_eq!(clean(""), "-");
    }
}
