//! Requests that each page makes to the API: the contract between the file of a page and the front end.
//!
//! A page is one file here and one in `web/src/pages/`. Requests are written as the front end writes them:
//! parameters in the order in which the endpoint lists them, defaults left out.

mod ask;
mod board;
mod compare;
mod database;
mod db_report;
mod run;
mod study;
mod trend;

use fenxi_model::RunId;

use crate::endpoints::{ApiError, Context, Query, chosen};

/// A page with what it asks.
pub(crate) struct Page {
    /// Its address within a server: path and query.
    pub address: String,
    /// Its heading.
    pub title: String,
    /// Requests of the page.
    pub requests: Vec<Request>,
}

/// Path and query of a request.
pub(crate) type Request = (&'static str, Query);

/// Parameters added to the requests of a file, so that it stays small: path, parameter, value.
pub(crate) const IN_A_FILE: &[(&str, &str, &str)] = &[("/api/v1/panel", "lines", "40")];

pub(crate) use run::first_of_run;

type Asks = fn(&Context<'_>, &Query) -> Result<Page, ApiError>;

/// Every page that can be a file.
const PAGES: &[(&str, Asks)] = &[
    ("/run", run::page),
    ("/database", database::page),
    ("/db-report", db_report::page),
    ("/compare", compare::page),
    ("/study", study::page),
    ("/trend", trend::page),
    ("/ask", ask::page),
    ("/board", board::page),
];

/// The page at `address`: a path with its query, or the whole address of a page on a server.
pub(crate) fn page(context: &Context<'_>, address: &str) -> Result<Page, ApiError> {
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => address,
    };
    let path = path.split('#').next().unwrap_or(path);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let Some((_, asks)) = PAGES.iter().find(|(known, _)| *known == path) else {
        let known: Vec<&str> = PAGES.iter().map(|(path, _)| *path).collect();
        return Err(ApiError::Unknown(format!("no file can be made of a page `{path}`, only of {}", known.join(", "))));
    };
    asks(context, &Query::parse(query))
}

fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Query {
    Query::of(pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())))
}

/// The query of a page whose runs are given by their ids: names may mean others tomorrow.
fn by_id(query: &Query, ids: &[RunId]) -> Query {
    let runs = ids.iter().map(|id| ("run", id.as_str()));
    pairs(runs.chain(query.pairs().filter(|(name, _)| *name != "run")))
}

/// The runs of a page.
fn runs(context: &Context<'_>, query: &Query) -> Result<Vec<RunId>, ApiError> {
    chosen::runs(context, query)
}

/// A request about `ids`, `before` what the endpoint has before its runs.
fn about<'a>(path: &'static str, before: impl IntoIterator<Item = (&'a str, &'a str)>, ids: &'a [RunId]) -> Request {
    (path, pairs(before.into_iter().chain(ids.iter().map(|id| ("run", id.as_str())))))
}

/// The pairs of `query` that are called so, in the order of `names`.
fn only(query: &Query, names: &[&str]) -> Query {
    pairs(names.iter().flat_map(|name| query.pairs().filter(move |(n, v)| n == name && !v.is_empty())))
}

#[cfg(test)]
mod tests {
    use fenxi_query::Question;
    use serde_json::Value;

    use super::{Query, ask, compare, database};

    const QUESTION: &str =
        "-- title: q\n-- chart: line\n-- x: t\n-- y: usr, sys\n-- unit: %\nSELECT t, usr, sys FROM cpu\n";

    /// The front end (`web/test/unit/requests.test.mjs`) is held to the same list.
    #[test]
    fn a_file_asks_what_its_page_asks() {
        let question = Question::parse("q", QUESTION).unwrap();
        let cases: Vec<Value> = serde_json::from_str(include_str!("../../tests/requests.json")).unwrap();
        assert!(cases.len() > 10);
        for case in cases {
            let (page, query) = case["page"].as_str().unwrap().split_once('?').unwrap();
            let query = Query::parse(query);
            if page == "/database" {
                let all = database::asked(&query, query.get("run").unwrap(), None);
                let all: Vec<String> = all.iter().map(|(path, asked)| format!("{path}?{}", asked.text())).collect();
                let wanted = case["request"].as_str().unwrap();
                assert!(all.iter().any(|asked| asked == wanted), "{}: {all:#?}", case["about"]);
                continue;
            }
            let (path, asked) = match page {
                "/ask" => ask::request(&query, query.get("question").map(|_| &question)).unwrap(),
                "/compare" => compare::request(&query),
                other => panic!("{other}"),
            };
            assert_eq!(format!("{path}?{}", asked.text()), case["request"].as_str().unwrap(), "{}", case["about"]);
        }
    }
}
