//! Authentication of requests: the login page, cookies, bearer tokens.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    body::to_bytes,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use fenxi_api::Query;

use crate::{
    access::{Access, Token, Tokens},
    assets, pages,
    peer::Peer,
    reply::Failure,
    rights::Asker,
    sessions::LONGEST,
    shared::Shared,
};

/// Bytes of a filled-in login form.
const FORM: usize = 8 << 10;

/// Lets requests with a token pass; others get the login page, or an error.
pub(crate) async fn enter(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let Access::Tokens(tokens) = &shared.settings.access else {
        let certificate = request.extensions().get::<Peer>().and_then(|p| p.certificate.clone());
        return named(Asker::Anyone(certificate.map(Into::into)), request, next).await;
    };
    if let Some(problem) = tokens.problem() {
        (shared.settings.audit)(&format!("{} {problem}", (shared.settings.now)().iso()));
    }
    // The front end's program is no secret, and the login page needs its style.
    if path.starts_with(assets::FOLDER) || path == "/login" || path == "/logout" {
        return next.run(request).await;
    }
    let secret = cookie(request.headers(), &shared.cookie);
    let session = secret.and_then(|s| locked(&shared.door.sessions).token(s, Instant::now()));
    // A session lasts no longer than its token.
    let mut token = session.and_then(|hash| tokens.of_hash(&hash));
    if token.is_none()
        && let Some(given) = bearer(request.headers())
    {
        token = match attempt(&shared, tokens, &request, given) {
            Ok(token) => Some(token),
            Err(failure) => return failure.into_response(),
        };
    }
    match token {
        Some(token) => named(Asker::Token(token), request, next).await,
        None => ask_in(&request),
    }
}

/// Answers, and notes who asks: for what it may do, for what is changed, and for the log.
async fn named(asker: Asker, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(asker.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(asker);
    response
}

/// The answer without a session: pages lead to the login page, programs get an error.
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

/// The owner of a token, unless its sender was wrong too often.
fn attempt(shared: &Shared, tokens: &Tokens, request: &Request, token: &str) -> Result<Arc<Token>, Failure> {
    let address = request.extensions().get::<Peer>().map_or([0, 0, 0, 0].into(), |p| p.address.ip());
    let mut attempts = locked(&shared.door.attempts);
    if !attempts.may(address, Instant::now()) {
        return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute"));
    }
    tokens.of(token).ok_or_else(|| {
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
        Ok(token) => {
            let Some(secret) = locked(&shared.door.sessions).begin(token.hash, Instant::now()) else {
                return Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "there are no random numbers").into_response();
            };
            let mut response = pages::see(next);
            response.extensions_mut().insert(Asker::Token(token));
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
}
