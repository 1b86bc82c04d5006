//! `/api/v1/trend`: one metric over runs.

use fenxi_compare::{Room, Trend, TrendRequest};

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

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let only: Vec<String> = query.all("where").map(str::to_owned).collect();
    let request = TrendRequest {
        metric: query.required("metric")?,
        only: &only,
        last: query.count("last")?,
        window: chosen::window(query),
    };
    Reply::json(&Trend::read(context.store, request, &Room::of(context.engine))?)
}
