//! `/api/v1/trend` and `/api/v1/trends`: one metric over runs, and all results of the runs at a glance.

use fenxi_compare::{Room, Trend, TrendRequest, Trends};

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

pub(super) const TREND: Endpoint = Endpoint {
    path: "/api/v1/trend",
    about: "One metric over runs, oldest first, with change points.",
    params: &[
        Param::required("metric", "Name of a result, `TABLE.COLUMN`, or `TABLE.COLUMN[KEY=VALUE]`", Kind::Text),
        Param::optional("where", "Only runs that match this selector", Kind::Text).many(),
        Param::optional("last", "Only the latest N runs", Kind::Count),
        chosen::WINDOW,
    ],
    changes: true,
    answer,
    schema: schema::of::<Trend>,
};

pub(super) const TRENDS: Endpoint = Endpoint {
    path: "/api/v1/trends",
    about: "Every result over runs: its latest values and its last change point, what became worse first.",
    params: &[
        Param::optional("where", "Only runs that match this selector", Kind::Text).many(),
        Param::optional("last", "Only the latest N runs", Kind::Count),
    ],
    changes: true,
    answer: all,
    schema: schema::of::<Trends>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let only: Vec<String> = query.all("where").map(str::to_owned).collect();
    let request =
        TrendRequest { metric: query.required("metric")?, window: chosen::window(query), ..of_runs(query, &only)? };
    Reply::json(&Trend::read(context.store, request, &Room::of(context.engine))?)
}

fn all(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let only: Vec<String> = query.all("where").map(str::to_owned).collect();
    Reply::json(&Trends::read(context.store, of_runs(query, &only)?)?)
}

/// The runs that are asked for, of which `only` are the selectors.
fn of_runs<'a>(query: &Query, only: &'a [String]) -> Result<TrendRequest<'a>, ApiError> {
    Ok(TrendRequest { metric: "", only, last: query.count("last")?, window: "", batch: None })
}
