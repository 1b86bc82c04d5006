//! `/db-report`: the report of a database server, whole or one section, with the chart of its active sessions.

use super::{Page, Request, about, only, runs};
use crate::endpoints::{ApiError, Context, Query, chosen};

/// The chart above the sections.
const CHART: &str = "db-activity";

pub(super) fn page(context: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let ids = runs(context, query)?;
    if ids.is_empty() {
        return Err(ApiError::Wrong("a report needs a run: `/db-report?run=NAME`".to_owned()));
    }
    let mut requests = vec![("/api/v1/dbreport", only(query, &["run", "against", "from", "to", "server", "section"]))];
    let against = query.get("against").filter(|against| !against.is_empty());
    let others = against.map(|against| chosen::named(context.store, against)).transpose()?.unwrap_or_default();
    // A chart is of one run: groups have none, and a section alone neither.
    let has_chart = query.get("section").is_none();
    for run in [&ids, &others].into_iter().filter(|runs| has_chart && runs.len() == 1) {
        requests.push(about("/api/v1/run", [], run));
        requests.push(chart(query, run[0].as_str()));
    }
    let title = match against {
        Some(against) => format!("Database report · {} and {against}", query.all("run").collect::<Vec<_>>().join(", ")),
        None => format!("Database report · {}", query.all("run").collect::<Vec<_>>().join(", ")),
    };
    Ok(Page { address: format!("/db-report?{}", query.text()), title, requests })
}

/// The chart's request; as everywhere it is of the whole run, and shows the range.
fn chart(query: &Query, run: &str) -> Request {
    let pairs = [("question", CHART.to_owned()), ("run", run.to_owned())].into_iter();
    let server = query.get("server").filter(|server| !server.is_empty()).map(|server| ("p.server", server.to_owned()));
    ("/api/v1/panel", Query::of(pairs.chain(server).map(|(name, value)| (name.to_owned(), value))))
}
