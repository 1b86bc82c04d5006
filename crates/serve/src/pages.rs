//! HTML: the shell of the front end, and the few pages that work without scripts.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, Uri, header},
    response::Response,
};

use crate::{
    assets::{Assets, LICENSES, Use},
    guard::{self, Nonce},
    reply::reply,
    shared::Shared,
};

const HTML: &str = "text/html; charset=utf-8";

/// Paths of the front end's pages; what they show is in their query.
pub(crate) const PAGES: &[&str] =
    &["/", "/run", "/database", "/db-report", "/compare", "/study", "/trend", "/ask", "/board", "/live"];

/// Paths that people type, and the pages that they mean.
pub(crate) const ALIASES: &[(&str, &str)] = &[
    ("/runs", "/"),
    ("/studies", "/study"),
    ("/boards", "/board"),
    ("/sql", "/ask"),
    ("/questions", "/ask"),
    ("/findings", "/run"),
    ("/databases", "/database"),
    ("/trends", "/trend"),
];

/// Whether a browser finds a page at `path`.
pub(crate) fn is_page(path: &str) -> bool {
    PAGES.contains(&path) || ALIASES.iter().any(|(typed, _)| *typed == path)
}

/// Sends the browser from a path of [`ALIASES`] to the page that it means, with its query.
pub(crate) async fn alias(uri: Uri) -> Response {
    let path = ALIASES.iter().find(|(typed, _)| *typed == uri.path()).map_or("/", |(_, page)| *page);
    let asked = uri.query().map(|query| format!("?{query}"));
    // Findings are a part of the page of a run, the latest one unless another is named.
    let (usual, part) = if uri.path() == "/findings" { ("?run=@1", "#section-findings") } else { ("", "") };
    see(&format!("{path}{}{part}", asked.as_deref().unwrap_or(usual)))
}

/// A page of the front end.
pub(crate) async fn shell(State(shared): State<Shared>) -> Response {
    let nonce = Nonce::new();
    let mut response = reply(StatusCode::OK, HTML, shell_text(&shared.assets, &nonce));
    guard::allow_style(&mut response, &nonce);
    response
}

fn shell_text(assets: &Assets, nonce: &Nonce) -> String {
    let mut head = String::new();
    for (_, address) in assets.addresses(Use::Style) {
        head += &format!("<link rel=\"stylesheet\" href=\"{address}\">\n");
    }
    for (name, address) in assets.addresses(Use::Later) {
        head += &format!("<meta name=\"fenxi-asset\" data-name=\"{name}\" content=\"{address}\">\n");
    }
    for (_, address) in assets.addresses(Use::Script) {
        head += &format!("<script src=\"{address}\" defer></script>\n");
    }
    head += &format!("<link rel=\"license\" href=\"{LICENSES}\">\n");
    page(
        "Fenxi",
        // Code that makes styles while it runs (the editor) marks them with this word; see `guard`.
        &format!("<meta property=\"csp-nonce\" nonce=\"{nonce}\">\n{head}"),
        "<div id=\"fenxi\"><noscript>These pages are drawn by a script, and scripts are switched off.</noscript></div>",
    )
}

/// The page that asks for a token. `wrong` is why it asks again.
pub(crate) fn login(assets: &Assets, status: StatusCode, next: &str, wrong: Option<&str>) -> Response {
    let style = format!("<link rel=\"stylesheet\" href=\"{}\">\n", assets.address("login.css"));
    let said = wrong.map(|text| format!("<p role=\"alert\">{}</p>\n", escaped(text))).unwrap_or_default();
    let next = escaped(next);
    let body = format!(
        "<main>\n<h1>Fenxi</h1>\n{said}<form method=\"post\" action=\"/login\">\n\
         <label for=\"token\">Token</label>\n\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus>\n\
         <input name=\"next\" type=\"hidden\" value=\"{next}\">\n<button>Log in</button>\n</form>\n\
         <p>The token is in the file that the server was started with (<code>--token-file</code>).</p>\n</main>"
    );
    reply(status, HTML, page("Log in to Fenxi", &style, &body))
}

/// A page that goes on to `path` by itself.
///
/// A browser that comes from another site sends no strict cookie; having been here, it does.
pub(crate) fn bounce(path: &str) -> Response {
    let path = escaped(path);
    let head = format!("<meta http-equiv=\"refresh\" content=\"0;url={path}\">\n");
    reply(StatusCode::OK, HTML, page("Fenxi", &head, &format!("<p><a href=\"{path}\">Go on</a></p>")))
}

/// Sends the browser to `path`.
pub(crate) fn see(path: &str) -> Response {
    let mut response = reply(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

fn page(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n{head}</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
