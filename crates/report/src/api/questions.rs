//! `/api/v1/questions`: what can be asked by name.

use serde_json::json;

use super::{ApiError, Context, Endpoint, Query, Reply};
use crate::payload::Header;

pub(super) const QUESTIONS: Endpoint = Endpoint {
    path: "/api/v1/questions",
    about: "The questions of the store, shipped and its own, each with its SQL and how it is drawn.",
    params: &[],
    answer,
};

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    let all: Vec<Header> = fenxi_query::questions(context.store)?.iter().map(Header::of).collect();
    Reply::json(&json!({ "questions": all }))
}
