//! `/api/v1/range`: what is different in a time range of a run.

use fenxi_compare::InRange;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

/// Changes that are told unless others are asked for, and no more than these.
const SHOWN: usize = 40;
const MOST: usize = 1000;

pub(super) const RANGE: Endpoint = Endpoint {
    path: "/api/v1/range",
    about: "What is different in a time range of a run: the change of every series against the rest of the run, ranked, with a \
            test that allows for samples that depend on their neighbours.",
    params: &[
        Param::required("run", "Run: an id or its beginning, a name, `@1`, `tag=value`", Kind::Text),
        Param::required("from", "Start of the time range, in seconds since the start of the run", Kind::Number),
        Param::required("to", "End of the time range, in seconds since the start of the run", Kind::Number),
        Param::optional("rows", "Maximum number of changes; default 40", Kind::Count),
    ],
    changes: false,
    answer,
    schema: schema::of::<InRange>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    let [run] = &runs[..] else {
        return Err(ApiError::Wrong("`run` names one run: a range is compared with the rest of it".to_owned()));
    };
    let wrong =
        |name: &str| ApiError::Wrong(format!("`{name}` is missing: a time in seconds since the start of the run"));
    let from = query.number("from")?.ok_or_else(|| wrong("from"))?;
    let to = query.number("to")?.ok_or_else(|| wrong("to"))?;
    if from.partial_cmp(&to) != Some(std::cmp::Ordering::Less) {
        return Err(ApiError::Wrong("`from` is not before `to`".to_owned()));
    }
    let most = query.count("rows")?.unwrap_or(SHOWN).min(MOST);
    Reply::json(&InRange::of(context.engine, run, from, to, most)?)
}
