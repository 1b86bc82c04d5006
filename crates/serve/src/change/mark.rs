//! `/api/v1/runs/{id}/marks`: moments of a run that people named.

use axum::{
    http::Method,
    response::Response,
    routing::{delete, post},
};
use fenxi_api::schema;
use fenxi_store::Mark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Named, Operation, Removed, Takes, blocking, done, json_body, named, one_run};
use crate::{reply::Failure, rights::Right, visit::Visit};

pub(super) const POST: Operation = Operation {
    method: Method::POST,
    path: "/api/v1/runs/{id}/marks",
    about: "Marks a moment of a run: charts show it, and `event` has it as a row whose kind is `mark`.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false, "required": ["at_s", "text"],
            "example": { "at_s": 0.5, "text": "failover begins" },
            "properties": {
                "at_s": { "type": "number", "minimum": 0, "description": "The moment, in seconds from the start of the run" },
                "text": { "type": "string", "minLength": 1, "maxLength": 500, "description": "What the moment is" },
                "host": { "type": "string", "description": "The host that it is about, in a run of several" },
            },
        })
    }),
    gives: "The new mark",
    schema: schema::of::<Made>,
    right: Right::Write,
    route: || post(set),
};

pub(super) const DELETE: Operation = Operation {
    method: Method::DELETE,
    path: "/api/v1/runs/{id}/marks/{text}",
    about: "Removes the marks of a run that have this text.",
    takes: Takes::Nothing,
    gives: "Text of the removed marks",
    schema: schema::of::<Removed>,
    right: Right::Write,
    route: || delete(remove),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    at_s: f64,
    text: String,
    host: Option<String>,
}

/// A mark of a run, seconds since its start.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Mark")]
struct Made {
    at_s: f64,
    host: Option<String>,
    text: String,
}

async fn set(visit: Visit, path: Named<String>, body: Body) -> Result<Response, Failure> {
    let Given { at_s, text, host } = json_body(body)?;
    let (store, id) = one_run(&visit, named(path)?).await?;
    let text = text.trim().to_owned();
    if text.is_empty() || text.chars().count() > 500 {
        return Err(Failure::wrong("the text of a mark has 1 to 500 characters"));
    }
    let made = blocking(move || {
        store.change_labels(&id, |entry| {
            let manifest = &entry.manifest;
            // A second more than it lasted: a page rounds.
            if !(0.0..manifest.seconds() + 1.0).contains(&at_s) {
                let text = format!("{at_s} s is outside the run, which lasts {:.1} s", manifest.seconds());
                return Err(Failure::wrong(text));
            }
            let t = manifest.start.after(at_s).min(manifest.end);
            entry.labels.add_mark(Mark { t, text: text.clone(), host: host.clone() });
            Ok(Made { at_s: t.seconds_since(entry.manifest.start), host, text })
        })
    });
    done(&made.await?)
}

async fn remove(visit: Visit, path: Named<(String, String)>) -> Result<Response, Failure> {
    let (run, text) = named(path)?;
    let (store, id) = one_run(&visit, run).await?;
    let removed = blocking(move || {
        store.change_labels(&id, |entry| match entry.labels.remove_marks(&text, None) {
            0 => Err(Failure::unknown(format!("run {id} has no mark `{text}` that could be removed"))),
            _ => Ok(text),
        })
    });
    done(&Removed { removed: removed.await? })
}
