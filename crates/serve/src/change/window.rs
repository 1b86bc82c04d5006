//! `/api/v1/runs/{id}/windows/{name}`: named time windows of a run.

use axum::{
    http::Method,
    response::Response,
    routing::{delete, put},
};
use fenxi_api::schema;
use fenxi_model::Micros;
use fenxi_store::Window;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Named, Operation, Removed, Takes, blocking, done, json_body, named, one_run};
use crate::{reply::Failure, rights::Right, visit::Visit};

pub(super) const PUT: Operation = Operation {
    method: Method::PUT,
    path: "/api/v1/runs/{id}/windows/{name}",
    about: "Defines a time window of a run; comparisons use the one named `steady` by default.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false, "required": ["from_s", "to_s"],
            "example": { "from_s": 0.2, "to_s": 0.8 },
            "properties": {
                "from_s": { "type": "number", "minimum": 0, "description": "Start, in seconds from the start of the run" },
                "to_s": { "type": "number", "minimum": 0, "description": "End, in seconds from the start of the run" },
            },
        })
    }),
    gives: "The new window",
    schema: schema::of::<Made>,
    right: Right::Write,
    route: || put(set),
};

pub(super) const DELETE: Operation = Operation {
    method: Method::DELETE,
    path: PUT.path,
    about: "Removes a time window of a run, unless the run was made with it.",
    takes: Takes::Nothing,
    gives: "Name of the removed window",
    schema: schema::of::<Removed>,
    right: Right::Write,
    route: || delete(remove),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    from_s: f64,
    to_s: f64,
}

/// A window of a run, seconds since its start.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Window")]
struct Made {
    from_s: f64,
    name: String,
    to_s: f64,
}

async fn set(visit: Visit, path: Named<(String, String)>, body: Body) -> Result<Response, Failure> {
    let (run, name) = named(path)?;
    let Given { from_s, to_s } = json_body(body)?;
    if name.is_empty() || name.len() > 100 || ["all", "auto"].contains(&name.as_str()) || name.contains("..") {
        return Err(Failure::wrong(format!("`{name}` cannot be the name of a window")));
    }
    let (store, id) = one_run(&visit, run).await?;
    let window = blocking(move || {
        store.change_labels(&id, |entry| {
            let manifest = &entry.manifest;
            // A second more than it lasted: a page rounds.
            if !(0.0..manifest.seconds()).contains(&from_s) || to_s <= from_s || to_s > manifest.seconds() + 1.0 {
                let text =
                    format!("{from_s} s to {to_s} s is outside the run, which lasts {:.1} s", manifest.seconds());
                return Err(Failure::wrong(text));
            }
            let start = manifest.start;
            let window = Window { name, start: start.after(from_s), end: start.after(to_s).min(manifest.end) };
            entry.labels.set_window(window.clone());
            let seconds = |t: Micros| t.seconds_since(entry.manifest.start);
            Ok(Made { from_s: seconds(window.start), name: window.name, to_s: seconds(window.end) })
        })
    });
    done(&window.await?)
}

async fn remove(visit: Visit, path: Named<(String, String)>) -> Result<Response, Failure> {
    let (run, name) = named(path)?;
    let (store, id) = one_run(&visit, run).await?;
    let removed = blocking(move || {
        store.change_labels(&id, |entry| match entry.labels.remove_window(&name) {
            true => Ok(name),
            false => Err(Failure::unknown(format!("run {id} has no window `{name}` that could be removed"))),
        })
    });
    done(&Removed { removed: removed.await? })
}
