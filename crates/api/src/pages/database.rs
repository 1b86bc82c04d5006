//! `/database`: what the database servers of one run reported, for a time range and the sessions that were chosen.

use super::{Page, Request, about, by_id, pairs, runs};
use crate::endpoints::{ApiError, Context, Query, run};

/// Dimensions by which sessions are grouped and filtered; `DIMENSIONS` of the front end.
const DIMENSIONS: [&str; 8] = ["class", "event", "statement", "session", "user", "application", "client", "database"];

/// The part below sessions, with its questions; those about a session first. `QUESTIONS` of the front end.
const BELOW: [(&str, &[&str]); 3] =
    [("process", &[]), ("file", &["io-files"]), ("disk", &["disk-util", "disk-latency", "hot-disks"])];

/// Questions that can be about one session.
const OF_A_SESSION: [&str; 2] = ["db-session-process", "db-session-cpu"];

pub(super) fn page(context: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let ids = runs(context, query)?;
    let [id] = &ids[..] else {
        return Err(ApiError::Wrong("a page of databases needs one run: `/database?run=NAME`".to_owned()));
    };
    let opened = run::open(context, &ids)?;
    let query = by_id(query, &ids);
    let mut requests = vec![about("/api/v1/run", [], &ids)];
    let database = opened.sections.iter().flat_map(|s| &s.panels).filter(|p| p.id.starts_with("db-"));
    requests.extend(database.map(|p| about("/api/v1/panel", [("question", p.id.as_str())], &ids)));
    requests.extend(asked(&query, id.as_str(), opened.interval_s()));
    Ok(Page {
        address: format!("/database?{}", query.text()), title: format!("Database · {}", opened.title), requests
    })
}

/// Requests beyond the questions as they stand: those about the time range and the chosen sessions.
pub(super) fn asked(query: &Query, run: &str, interval_s: Option<f64>) -> Vec<Request> {
    let range = range(number(query, "from"), number(query, "to"));
    let server: Vec<(&str, String)> = one(query, "server").map(|name| ("p.server", name)).into_iter().collect();
    let chosen = || DIMENSIONS.into_iter().filter_map(|name| Some((name, one(query, name)?)));
    let by = one(query, "by").filter(|by| DIMENSIONS.contains(&by.as_str())).unwrap_or_else(|| "class".to_owned());
    let ask =
        |question: &str, range: Option<[f64; 2]>, params: Vec<(&str, String)>| request(question, run, range, params);
    let of_sessions = |by: &str| {
        let filters = chosen().map(|(name, value)| (parameter(name), value));
        filters.chain(server.clone()).chain([("p.by", by.to_owned())]).collect::<Vec<_>>()
    };

    let mut requests = vec![
        ask("db-key-figures", range, server.clone()),
        ask("db-top-activity", range, vec![("p.by", "server".to_owned())]),
        ask("db-blocking-over-time", None, server.clone()),
        ask("db-blocking", None, server.clone()),
    ];
    requests.push(if by == "class" && chosen().next().is_none() {
        ask("db-activity", None, server.clone())
    } else {
        ask("db-by-application", None, of_sessions(&by))
    });
    let lists = [by.as_str(), "statement", "session"].into_iter().filter(|name| one(query, name).is_none());
    requests.extend(lists.map(|name| ask("db-top-activity", range, of_sessions(name))));
    if let Some(digest) = one(query, "statement") {
        requests.push(ask("db-top-activity", None, vec![("p.by", "statement".to_owned()), ("p.statement", digest)]));
    }
    // The interval that the moment is in; `around` of the front end.
    let before = 1.1 * interval_s.unwrap_or(1.0).max(1.0);
    let moment = number(query, "at").map(|at| rounded([(at - before).max(0.0), at]));
    requests.push(ask("db-blocking-tree", moment.or(range), server.clone()));
    if let Some((_, questions)) = BELOW.iter().find(|(name, _)| query.get("below") == Some(name)) {
        requests.extend(questions.iter().map(|name| ask(name, None, Vec::new())));
        let session = one(query, "session").map(|session| vec![("p.session", session)]).unwrap_or_default();
        requests.extend(OF_A_SESSION.map(|name| ask(name, None, session.clone())));
    }
    requests.sort_by_key(|(_, query)| query.text());
    requests.dedup_by_key(|(_, query)| query.text());
    requests
}

/// The parameter of questions that chooses of a dimension.
fn parameter(dimension: &'static str) -> &'static str {
    const PARAMETERS: [&str; 8] =
        ["p.class", "p.event", "p.statement", "p.session", "p.user", "p.application", "p.client", "p.database"];
    PARAMETERS.into_iter().find(|name| name.ends_with(dimension)).unwrap_or(dimension)
}

/// A request as the front end writes it: parameters of the question last, by name.
fn request(question: &str, run: &str, range: Option<[f64; 2]>, mut params: Vec<(&str, String)>) -> Request {
    params.sort_unstable();
    let range = range.map(|[from, to]| [("from", from.to_string()), ("to", to.to_string())]);
    let range: Vec<(&str, String)> = range.into_iter().flatten().collect();
    let rest = range.iter().chain(&params).map(|(name, value)| (*name, value.as_str()));
    ("/api/v1/panel", pairs([("question", question), ("run", run)].into_iter().chain(rest)))
}

fn one(query: &Query, name: &str) -> Option<String> {
    query.get(name).filter(|value| !value.is_empty()).map(str::to_owned)
}

fn number(query: &Query, name: &str) -> Option<f64> {
    query.get(name)?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A time range that there can be, seconds.
fn range(from: Option<f64>, to: Option<f64>) -> Option<[f64; 2]> {
    let (from, to) = (from?, to?);
    (from < to).then(|| rounded([from, to]))
}

/// To the millisecond, and never nothing at all; `rounded` of the front end.
fn rounded([from, to]: [f64; 2]) -> [f64; 2] {
    let ms = |s: f64| (s * 1000.0).round();
    let begin = ms(from);
    [begin / 1000.0, ms(to).max(begin + 1.0) / 1000.0]
}
