//! `/api/v1/findings`: findings of runs.

use super::{ApiError, Context, Endpoint, Query, Reply, chosen, schema};
use crate::{findings, payload::Findings};

pub(super) const FINDINGS: Endpoint = Endpoint {
    path: "/api/v1/findings",
    about: "Findings of runs: what is wrong or unusual, with figures, advice and the question that shows the evidence.",
    params: &[chosen::RUN],
    changes: false,
    answer,
    schema: schema::of::<Findings>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    let found = findings::look(context.engine, &chosen::scope(&runs, query)?, &chosen::shown(context.store, &runs)?)?;
    Reply::json(&found)
}
