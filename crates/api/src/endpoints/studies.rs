//! `/api/v1/studies` and `/api/v1/study`: planned experiments and their results.

use fenxi_study::{Design, Record, Report, StudyError, finished, made, names, parse, report};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, schema};
use crate::study_asks::AtHand;

pub(super) const STUDIES: Endpoint = Endpoint {
    path: "/api/v1/studies",
    about: "The studies of the store, with progress and factors.",
    params: &[],
    changes: true,
    answer: list,
    schema: schema::of::<Studies>,
};

pub(super) const STUDY: Endpoint = Endpoint {
    path: "/api/v1/study",
    about: "Results of a study: every response by factor, scaling curves, the best cell, failures.",
    params: &[Param::required("name", "Name of the study", Kind::Text)],
    changes: true,
    answer: one,
    schema: schema::of::<Report>,
};

/// The studies of the store.
#[derive(JsonSchema, Serialize)]
struct Studies {
    studies: Vec<Listed>,
}

/// A study of the list.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ListedStudy")]
struct Listed {
    name: String,
    /// Runs that were made, failed ones too.
    runs: usize,
    /// Runs that count.
    finished: usize,
    /// Runs that its plan asks for.
    planned: usize,
    factors: Vec<String>,
}

impl From<StudyError> for ApiError {
    fn from(error: StudyError) -> ApiError {
        match error {
            StudyError::Unknown { .. } => ApiError::Unknown(error.to_string()),
            _ => ApiError::Failed(error.to_string()),
        }
    }
}

fn list(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    let mut studies = Vec::new();
    let mut all = names(context.store)?;
    all.sort();
    for name in all {
        let Some(record) = Record::load(context.store, &name)? else { continue };
        let plan = parse(&record.path, &record.text).map_err(StudyError::from)?;
        let made = made(context.store, &record)?;
        if made.is_empty() && context.store.knows_only_some() {
            continue;
        }
        studies.push(Listed {
            name,
            runs: made.len(),
            finished: finished(&made).len(),
            planned: Design::new(&plan, record.seed).map_err(StudyError::from)?.order.len(),
            factors: plan.factors.iter().map(|f| f.name.clone()).collect(),
        });
    }
    Reply::json(&Studies { studies })
}

fn one(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let record = Record::named(context.store, query.required("name")?)?;
    let plan = parse(&record.path, &record.text).map_err(StudyError::from)?;
    if context.store.knows_only_some() && made(context.store, &record)?.is_empty() {
        return Err(ApiError::Unknown(format!("there is no study `{}`", query.required("name")?)));
    }
    Reply::json(&report(context.store, &plan, &record, Some(&AtHand(context.engine)))?)
}
