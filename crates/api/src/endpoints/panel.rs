//! `/api/v1/panel`: answer to one question, ready to plot.

use fenxi_model::Unit;
use fenxi_query::{AdHoc, Chart, QueryError, Question, Scope, question};

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};
use crate::{
    kept,
    panel::{Wish, panel},
    payload::Panel,
};

/// Bins, rows and lines of an answer unless others are asked for.
const BINS: usize = 600;
const ROWS: usize = 500;
const LINES: usize = 500;
/// No screen has more points; no page needs more rows at once.
const MOST_BINS: usize = 10_000;
const MOST_ROWS: usize = 100_000;

pub(super) const PANEL: Endpoint = Endpoint {
    path: "/api/v1/panel",
    about: "The answer to a question, by name or as SQL, ready to plot: series over time in bins with mean, minimum and \
            maximum, or a table. `from` and `to` restrict the time range, also of statistics.",
    params: &[
        Param::optional("question", "Name of a question", Kind::Text),
        Param::optional("sql", "SQL statement instead of a question", Kind::Text),
        Param::optional("chart", "Chart type for `sql`: line, stacked, heatmap, table …", Kind::Text),
        Param::optional("x", "Column of the x axis; `t` for time", Kind::Text),
        Param::optional("y", "Columns of values, comma-separated", Kind::Text),
        Param::optional("series", "Column that identifies the series", Kind::Text),
        Param::optional("unit", "Unit of the values, such as %, B, B/s, /s, s, ms", Kind::Text),
        chosen::ANY_RUN,
        chosen::FROM,
        chosen::TO,
        Param::optional("bins", "Maximum number of points per series; default 600", Kind::Count),
        Param::optional("rows", "Maximum number of rows of a table; default 500", Kind::Count),
        Param::optional("lines", "Maximum number of series per chart and run; default 500", Kind::Count),
        Param::optional("p.", "Parameter of the question, such as `p.n=5`", Kind::Text).many(),
    ],
    changes: false,
    answer,
    schema: schema::of::<Panel>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    let scope = chosen::scope(&runs, query)?;
    let asked = asked(context, query, &scope)?;
    let shown = chosen::shown(context.store, &runs)?;
    let wish = Wish {
        params: params(query),
        bins: query.count("bins")?.unwrap_or(BINS).clamp(1, MOST_BINS),
        rows: query.count("rows")?.unwrap_or(ROWS).min(MOST_ROWS),
        lines: query.count("lines")?.unwrap_or(LINES),
    };
    // A part of a run is another answer for each part.
    let whole =
        scope.part.is_none().then(|| kept::place(context.store, &asked, &shown, &format!("{wish:?}"))).flatten();
    if let Some(bytes) = whole.as_ref().and_then(|path| context.store.read_cached(path)) {
        return Ok(Reply { content_type: Reply::JSON, bytes });
    }
    let answered = panel(context.engine, &asked, &scope, &shown, &wish)?;
    let failed = answered.error.is_some();
    let reply = Reply::json(&answered)?;
    if let Some(path) = whole.filter(|_| !failed) {
        // A store that cannot be written is read all the same, only slower.
        let _ = context.store.keep_derived(&path, &reply.bytes);
    }
    Ok(reply)
}

fn params(query: &Query) -> Vec<(String, String)> {
    query.under("p.").map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The question of a request: by its name, also one that the runs bring with them, or made of a statement.
fn asked(context: &Context<'_>, query: &Query, scope: &Scope) -> Result<Question, ApiError> {
    match (query.get("question"), query.get("sql")) {
        (Some(name), None) => match question(context.store, name) {
            Err(unknown @ QueryError::UnknownQuestion { .. }) => {
                let carried = context.engine.carried_questions(scope)?;
                Ok(carried.into_iter().find(|q| q.name == name).ok_or(unknown)?)
            }
            found => Ok(found?),
        },
        (None, Some(sql)) => {
            let text = |name| query.get(name).map(str::to_owned);
            let chart = query.get("chart").map(|word| {
                Chart::parse(word).ok_or_else(|| {
                    ApiError::Wrong(format!("`{word}` is not a chart: one of {}", Chart::WORDS.join(", ")))
                })
            });
            let y = query.get("y").unwrap_or_default().split(',').map(|y| y.trim().to_owned());
            let ad_hoc = AdHoc {
                sql: sql.to_owned(),
                chart: chart.transpose()?,
                x: text("x"),
                y: y.filter(|y| !y.is_empty()).collect(),
                series: text("series"),
                unit: query.get("unit").map(Unit::from_symbol),
                params: params(query),
            };
            Ok(ad_hoc.question(context.engine, scope)?)
        }
        _ => Err(ApiError::Wrong("either `question` or `sql` is needed".to_owned())),
    }
}
