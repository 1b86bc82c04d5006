//! `POST /api/v1/average`: averages runs into a new one.

use axum::{
    extract::State,
    http::{Method, StatusCode},
    response::Response,
    routing::post,
};
use fenxi_api::schema;
use fenxi_compare::average::{AverageError, Plan, average};
use fenxi_compare::{Averaging, CompareError, Outliers, group};
use fenxi_model::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Gone, Operation, Takes, blocking, done, json_body, random, text_schema};
use crate::{reply::Failure, shared::Shared};

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
    changes: true,
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

async fn make(State(shared): State<Shared>, body: Body) -> Result<Response, Failure> {
    let given: Given = json_body(body)?;
    let gone = Gone::default();
    let is_gone = gone.told();
    // One at a time: each reads all of its runs.
    let turn = shared.averages.take(shared.settings.limits.time).await?;
    let store = shared.settings.store.clone();
    let made = blocking(move || {
        let _turn = turn;
        let runs = group(&store, &given.runs.join(",")).map_err(refused)?;
        let outliers = if given.drop_outliers { Outliers::LeaveOut } else { Outliers::Keep };
        let chosen = Averaging::of(&store, &runs, given.window.as_deref().unwrap_or("auto"), outliers);
        let Averaging { found: _, members, left_out, remarks } = chosen.map_err(refused)?;
        let of: Vec<_> = members.iter().map(|member| member.id.clone()).collect();
        let name = given.name.filter(|name| !name.is_empty());
        let plan = Plan { store: &store, members, name, tags: Default::default(), random: random(), remarks };
        let run = average(plan, |_, _, _| !is_gone()).map_err(|e| match e {
            AverageError::Store(error) => error.into(),
            AverageError::Nothing => Failure::wrong(e.to_string()),
            AverageError::Interrupted => Failure::new(StatusCode::REQUEST_TIMEOUT, e.to_string()),
        })?;
        Ok(Averaged { left_out, of, run })
    });
    let made = made.await?;
    drop(gone);
    done(&made)
}

fn refused(error: CompareError) -> Failure {
    match error {
        CompareError::Store(error) => error.into(),
        error => Failure::wrong(error.to_string()),
    }
}
