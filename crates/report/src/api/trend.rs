//! `/api/v1/trend`: one metric over runs.

use fenxi_compare::{Trend, TrendRequest};

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen};

pub(super) const TREND: Endpoint = Endpoint {
    path: "/api/v1/trend",
    about: "One metric over runs, the oldest first, and where it changed.",
    params: &[
        Param::required("metric", "A result by its name, `TABLE.COLUMN`, or `TABLE.COLUMN[KEY=VALUE]`", Kind::Text),
        Param::optional("where", "Only runs that this selector names", Kind::Text).many(),
        Param::optional("last", "Only the latest so many runs", Kind::Count),
        chosen::WINDOW,
    ],
    answer,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let only: Vec<String> = query.all("where").map(str::to_owned).collect();
    let request = TrendRequest {
        metric: query.required("metric")?,
        only: &only,
        last: query.count("last")?,
        window: chosen::window(query),
    };
    Reply::json(&Trend::read(context.store, request)?)
}
