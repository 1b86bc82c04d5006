//! `/api/v1/questions`: list of questions.

use fenxi_query::Section;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Query, Reply, run::heading, schema};
use crate::payload::Header;

pub(super) const QUESTIONS: Endpoint = Endpoint {
    path: "/api/v1/questions",
    about: "The questions of the store, shipped and its own, each with its SQL and how it is drawn; and \
            the sections of a report.",
    params: &[],
    changes: true,
    answer,
    schema: schema::of::<Questions>,
};

/// The questions of the store.
#[derive(JsonSchema, Serialize)]
struct Questions {
    questions: Vec<Header>,
    sections: Vec<SectionName>,
}

/// A part of a report.
#[derive(JsonSchema, Serialize)]
struct SectionName {
    id: &'static str,
    title: String,
}

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    let questions = fenxi_query::questions(context.store)?.iter().map(Header::of).collect();
    let section = |s: &Section| SectionName { id: s.word(), title: heading(s.word()) };
    Reply::json(&Questions { questions, sections: Section::ALL.iter().map(section).collect() })
}
