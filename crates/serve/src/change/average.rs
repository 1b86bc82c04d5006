//! `POST /api/v1/average`: averages runs into a new one.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    http::{Method, StatusCode},
    response::Response,
    routing::post,
};
use fenxi_api::schema;
use fenxi_compare::average::{AverageError, Plan, average};
use fenxi_compare::{Averaging, CompareError, Outliers, Room, group};
use fenxi_model::RunId;
use fenxi_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Bounds, Gone, Operation, Takes, blocking, done, json_body, no_room, random, text_schema, too_late};
use crate::{
    reply::Failure,
    rights::{PROJECT, Right},
    visit::Visit,
};

pub(super) const POST: Operation = Operation {
    method: Method::POST,
    path: "/api/v1/average",
    about: "Averages runs into a new one, with standard deviations. Nothing is kept if the client disconnects before the end.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false, "required": ["runs"],
            "example": { "runs": ["@1", "@2"], "name": "mean", "window": "all", "drop_outliers": false },
            "properties": {
                "runs": { "type": "array", "minItems": 1, "items": text_schema("A run, or a selector of several") },
                "name": { "type": ["string", "null"], "description": "Name of the new run" },
                "window": {
                    "type": ["string", "null"],
                    "description": "Time window: `all`, a name, `FROM..TO`, or `auto` (default) for the steady state",
                },
                "drop_outliers": { "type": "boolean", "description": "Exclude outliers: runs unusually far from the others" },
            },
        })
    }),
    gives: "The id of the average: `run`, the runs that it is `of`, and those that were `left_out`",
    schema: schema::of::<Averaged>,
    right: Right::Write,
    route: || post(make),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    runs: Vec<String>,
    name: Option<String>,
    window: Option<String>,
    #[serde(default)]
    drop_outliers: bool,
}

/// An average that was made.
#[derive(JsonSchema, Serialize)]
struct Averaged {
    /// Runs that do not count in it.
    #[schemars(with = "Vec<String>")]
    left_out: Vec<RunId>,
    /// Runs that it is the average of.
    #[schemars(with = "Vec<String>")]
    of: Vec<RunId>,
    /// Its id.
    #[schemars(with = "String")]
    run: RunId,
}

async fn make(visit: Visit, body: Body) -> Result<Response, Failure> {
    let given: Given = json_body(body)?;
    let gone = Gone::default();
    let limits = visit.settings.limits.clone();
    // One at a time: each reads all of its runs.
    let turn = visit.averages.take(limits.time).await?;
    let time = limits.import_time;
    let bounds = Bounds::new(&limits, time, &gone);
    let room = Room::of_bytes(limits.memory_bytes);
    let made = blocking(move || {
        let _turn = turn;
        let store = visit.store()?;
        let runs = group(&store, &given.runs.join(",")).map_err(refused)?;
        let outliers = if given.drop_outliers { Outliers::LeaveOut } else { Outliers::Keep };
        let chosen = Averaging::of(&store, &runs, given.window.as_deref().unwrap_or("auto"), outliers, room);
        let Averaging { found: _, members, left_out, remarks } = chosen.map_err(refused)?;
        let of: Vec<_> = members.iter().map(|member| member.id.clone()).collect();
        let name = given.name.filter(|name| !name.is_empty());
        let tags = common_project(&store, &of)?;
        let plan = Plan { store: &store, members, name, tags, random: random(), remarks };
        let mut fits = true;
        let run = average(plan, |step| {
            fits = bounds.has_room(step.bytes);
            fits && !bounds.is_over()
        });
        let run = run.map_err(|e| match e {
            AverageError::Store(error) => error.into(),
            AverageError::Nothing => Failure::wrong(e.to_string()),
            AverageError::Interrupted if !fits => no_room("fenxi average"),
            AverageError::Interrupted if bounds.is_late() => too_late("an average", time, "use `fenxi average`"),
            AverageError::Interrupted => Failure::new(StatusCode::REQUEST_TIMEOUT, e.to_string()),
        })?;
        Ok(Averaged { left_out, of, run })
    });
    let made = made.await?;
    drop(gone);
    done(&made)
}

/// The project of an average: that of its runs, if it is one.
fn common_project(store: &Store, of: &[RunId]) -> Result<BTreeMap<String, String>, Failure> {
    let mut projects = BTreeSet::new();
    for id in of {
        projects.insert(store.run(id)?.labels.tags.remove(PROJECT));
    }
    let only = projects.pop_first().filter(|_| projects.is_empty()).flatten();
    Ok(only.map(|project| (PROJECT.to_owned(), project)).into_iter().collect())
}

fn refused(error: CompareError) -> Failure {
    match error {
        CompareError::Store(error) => error.into(),
        CompareError::TooManySeries { .. } => no_room("fenxi average"),
        error => Failure::wrong(error.to_string()),
    }
}
