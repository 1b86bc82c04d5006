//! `/ask`: the answer to one statement or question.

use fenxi_query::{Question, has_parameters, question};

use super::{Page, Request, about, by_id, runs};
use crate::endpoints::{ApiError, Context, Query};

/// Rows of a table on this page; `LIMIT` of the front end.
const ROWS: &str = "2000";

pub(super) fn page(context: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let mut ids = runs(context, query)?;
    if ids.is_empty() {
        ids = context.store.select("@1")?;
    }
    let base = query.get("question").map(|name| question(context.store, name)).transpose()?;
    let title = base.as_ref().map_or("SQL", |q| q.title.as_str()).to_owned();
    let by_id = by_id(query, &ids);
    let answer = request(&by_id, base.as_ref())?;
    let requests = vec![("/api/v1/questions", Query::default()), about("/api/v1/run", [], &ids), answer];
    Ok(Page { address: format!("/ask?{}", by_id.text()), title, requests })
}

/// The request that answers: the question as it stands, a plain table, or a panel of what was changed.
pub(super) fn request(query: &Query, base: Option<&Question>) -> Result<Request, ApiError> {
    let sql = query.get("q").map(str::trim).or_else(|| base.map(|q| q.sql.trim()));
    let sql =
        sql.ok_or_else(|| ApiError::Wrong("the page asks nothing: `/ask?question=NAME` or `/ask?q=SQL`".to_owned()))?;
    let of_base = |name: &str| -> Option<String> {
        let base = base?;
        match name {
            "chart" => Some(base.chart.word().to_owned()),
            "x" => base.x.clone(),
            "y" => Some(base.y.join(",")),
            "series" => base.series.clone(),
            "unit" => Some(base.unit.symbol().to_owned()),
            _ => None,
        }
        .filter(|text| !text.is_empty())
    };
    let drawn = ["chart", "x", "y", "series", "unit"];
    let changed = |name: &&str| query.get(name).is_some_and(|given| of_base(name).as_deref() != Some(given));
    let runs = || query.all("run").map(|id| ("run", id));
    let mut params: Vec<(&str, &str)> = query.pairs().filter(|(name, _)| name.starts_with("p.")).collect();
    params.sort_unstable();
    if let Some(base) = base.filter(|b| b.sql.trim() == sql && !drawn.iter().any(changed)) {
        let pairs = std::iter::once(("question", base.name.as_str())).chain(runs()).chain(params);
        return Ok(("/api/v1/panel", super::pairs(pairs)));
    }
    let look: Vec<(&str, String)> = drawn
        .into_iter()
        .filter_map(|name| Some((name, query.get(name).map(str::to_owned).or_else(|| of_base(name))?)))
        .collect();
    let is_table = look.iter().all(|(name, value)| *name != "chart" || value == "table");
    if is_table && !has_parameters(sql) {
        let pairs = std::iter::once(("q", sql)).chain(runs()).chain([("limit", ROWS)]);
        return Ok(("/api/v1/sql", super::pairs(pairs)));
    }
    let mut all = vec![("sql", sql)];
    if !look.iter().any(|(name, _)| *name == "chart") {
        all.push(("chart", "table"));
    }
    all.extend(look.iter().map(|(name, value)| (*name, value.as_str())));
    let pairs = all.into_iter().chain(runs()).chain([("rows", ROWS)]).chain(params);
    Ok(("/api/v1/panel", super::pairs(pairs)))
}
