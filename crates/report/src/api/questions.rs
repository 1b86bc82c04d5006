//! `/api/v1/questions`: list of questions.

use fenxi_query::Section;
use serde_json::{Value, json};

use super::{ApiError, Context, Endpoint, Query, Reply, run::heading};
use crate::payload::Header;

pub(super) const QUESTIONS: Endpoint = Endpoint {
    path: "/api/v1/questions",
    about: "The questions of the store, shipped and its own, each with its SQL and how it is drawn; and \
            the sections of a report.",
    params: &[],
    answer,
};

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    let all: Vec<Header> = fenxi_query::questions(context.store)?.iter().map(Header::of).collect();
    let section = |s: &Section| json!({ "id": s.word(), "title": heading(s.word()) });
    let sections: Vec<Value> = Section::ALL.iter().map(section).collect();
    Reply::json(&json!({ "questions": all, "sections": sections }))
}
