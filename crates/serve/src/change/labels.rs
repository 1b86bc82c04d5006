//! `PUT /api/v1/runs/{id}/labels`: name, tags, remarks, whether it is a baseline.

use std::collections::BTreeMap;

use axum::{extract::State, http::Method, response::Response, routing::put};
use serde::Deserialize;
use serde_json::json;

use super::{Body, Named, Operation, Takes, blocking, done, given, json_body, named, one_run, text_schema};
use crate::{app::Shared, reply::Failure};

pub(super) const PUT: Operation = Operation {
    method: Method::PUT,
    path: "/api/v1/runs/{id}/labels",
    about: "Changes the labels of a run. What is not given stays; tags and remarks that are given replace those before.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "name": { "type": ["string", "null"], "description": "Its name; null or empty for none" },
                "tags": { "type": "object", "additionalProperties": text_schema("Value of the tag") },
                "baseline": { "type": "boolean", "description": "Whether later runs are compared with it" },
                "remarks": { "type": "array", "items": text_schema("A remark in words") },
            },
        })
    }),
    gives: "The labels as they are now",
    changes: true,
    route: || put(set),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default, deserialize_with = "given")]
    name: Option<Option<String>>,
    tags: Option<BTreeMap<String, String>>,
    baseline: Option<bool>,
    remarks: Option<Vec<String>>,
}

async fn set(State(shared): State<Shared>, id: Named<String>, body: Body) -> Result<Response, Failure> {
    let given: Given = json_body(body)?;
    let id = one_run(&shared, named(id)?).await?;
    if given.tags.iter().flatten().any(|(key, _)| key.trim().is_empty() || key.contains('=')) {
        return Err(Failure::wrong("the name of a tag is not empty and has no `=`"));
    }
    let store = shared.settings.store.clone();
    let labels = blocking(move || {
        let mut labels = store.run(&id)?.labels;
        if let Some(name) = given.name {
            labels.name = name.filter(|name| !name.is_empty());
        }
        labels.tags = given.tags.unwrap_or(labels.tags);
        labels.baseline = given.baseline.unwrap_or(labels.baseline);
        labels.remarks = given.remarks.unwrap_or(labels.remarks);
        store.set_labels(&id, &labels)?;
        Ok(labels)
    });
    let labels = labels.await?;
    Ok(done(json!({
        "name": labels.name, "tags": labels.tags, "baseline": labels.baseline, "remarks": labels.remarks,
    })))
}
