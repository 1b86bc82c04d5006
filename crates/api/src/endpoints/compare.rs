//! `/api/v1/compare`: side-by-side comparison of two groups of runs.

use fenxi_compare::{Chosen, Comparison, Group, Request, Room, SideBySide, share};

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

pub(super) const COMPARE: Endpoint = Endpoint {
    path: "/api/v1/compare",
    about: "Whether two groups of runs may be compared, and by how much they differ: results, metrics, facts, and where \
            the time went.",
    params: &[
        Param::required("a", "Baseline group: a selector, or several separated by commas", Kind::Text),
        Param::required("b", "Group to compare with the baseline", Kind::Text),
        Param::optional(
            "margin",
            "Equivalence margin such as `2%` or `0.02`: smaller changes are negligible; default 2%",
            Kind::Text,
        ),
        chosen::WINDOW,
        Param::optional("by", "Also compare each series with this key, such as `cpu`", Kind::Text).many(),
        Param::optional(
            "per",
            "Compare cost per transaction: divide by this rate or number, such as `result.NAME`",
            Kind::Text,
        ),
        Param::optional("force", "Compare even if the validity gate refuses", Kind::Flag),
        Param::optional("all", "All metrics, not only those that differ", Kind::Flag),
    ],
    changes: false,
    answer,
    schema: schema::of::<SideBySide<'static>>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let by: Vec<String> = query.all("by").map(str::to_owned).collect();
    let chosen = Chosen { by: &by, window: chosen::window(query) };
    let margin = match query.get("margin") {
        None => Request::default().margin,
        Some(text) => share(text)
            .ok_or_else(|| ApiError::Wrong(format!("`margin` is a share such as 2% or 0.02, not `{text}`")))?,
    };
    let mut room = Room::of(context.engine);
    let a = Group::read_within(context.engine, query.required("a")?, chosen, &mut room)?;
    let b = Group::read_within(context.engine, query.required("b")?, chosen, &mut room)?;
    let request = Request { margin, per: query.get("per"), force: query.flag("force"), ..Request::default() };
    let mut found = SideBySide::of(&a, &b, request)?;
    if !query.flag("all") {
        found.comparison = found.comparison.map(Comparison::only_news);
    }
    Reply::json(&found)
}
