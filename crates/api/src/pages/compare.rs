//! `/compare`: side-by-side comparison of two groups of runs, and the charts that both share.

use fenxi_model::RunId;

use super::{Page, Request, about, only};
use crate::endpoints::{ApiError, Context, Query, chosen, run};

/// Charts in which two groups can be laid over each other or side by side.
const SHARED: [&str; 4] = ["line", "stacked", "heatmap", "histogram"];

pub(super) fn page(context: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let (a, b) = (query.required("a")?, query.required("b")?);
    let mut requests = vec![request(query)];
    let mut ids: Vec<RunId> = chosen::named(context.store, a)?;
    ids.extend(chosen::named(context.store, b)?);
    // Further groups are compared with A one by one, and all of them explained together.
    let further: Vec<&str> = query.all("c").collect();
    let mut groups = vec![joined(&chosen::named(context.store, a)?), joined(&chosen::named(context.store, b)?)];
    for group in &further {
        requests.push(against(query, group));
        let runs = chosen::named(context.store, group)?;
        groups.push(joined(&runs));
        ids.extend(runs);
    }
    if !further.is_empty() {
        let groups = groups.iter().map(|group| ("run".to_owned(), group.clone()));
        requests.push(("/api/v1/explain", Query::of(groups)));
    }
    let mut seen = Vec::new();
    ids.retain(|id| {
        !seen.contains(id) && {
            seen.push(id.clone());
            true
        }
    });
    let opened = run::open(context, &ids)?;
    requests.push(about("/api/v1/run", [], &ids));
    let shared = opened.sections.iter().flat_map(|s| &s.panels).filter(|p| SHARED.contains(&p.chart));
    requests.extend(shared.map(|p| about("/api/v1/panel", [("question", p.id.as_str())], &ids)));
    if opened.holds("stack") {
        requests.push(about("/api/v1/stacks", [], &ids));
    }
    Ok(Page { address: format!("/compare?{}", query.text()), title: format!("{a} and {b}"), requests })
}

/// Runs as one group of a request.
fn joined(runs: &[RunId]) -> String {
    runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(",")
}

/// The request for the comparison of a further group with A.
fn against(query: &Query, group: &str) -> Request {
    let other = query.pairs().filter(|(name, _)| *name != "b").map(|(n, v)| (n.to_owned(), v.to_owned()));
    request(&Query::of(other.chain([("b".to_owned(), group.to_owned())])))
}

/// The request for the comparison; every line is asked for, what is shown is chosen on the page.
pub(super) fn request(query: &Query) -> Request {
    let asked = only(query, &["a", "b", "margin", "window", "by", "per"]);
    let asked = if query.flag("force") { asked.with("force", "true") } else { asked };
    ("/api/v1/compare", asked.with("all", "true"))
}
