//! `PUT /api/v1/runs/{id}/labels`: sets name, tags, remarks and baseline flag.

use std::collections::BTreeMap;

use axum::{extract::State, http::Method, response::Response, routing::put};
use fenxi_report::api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Named, Operation, Takes, blocking, done, given, json_body, named, one_run, text_schema};
use crate::{app::Shared, reply::Failure};

pub(super) const PUT: Operation = Operation {
    method: Method::PUT,
    path: "/api/v1/runs/{id}/labels",
    about: "Changes the labels of a run. Omitted fields stay; given tags and remarks replace the previous ones.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "name": { "type": ["string", "null"], "description": "Name; null or empty for none" },
                "tags": { "type": "object", "additionalProperties": text_schema("Value of the tag") },
                "baseline": { "type": "boolean", "description": "Baseline flag: later runs are compared with it" },
                "remarks": { "type": "array", "items": text_schema("A remark in words") },
            },
        })
    }),
    gives: "The new labels",
    schema: schema::of::<Labels>,
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

/// Labels of a run.
#[derive(JsonSchema, Serialize)]
struct Labels {
    baseline: bool,
    name: Option<String>,
    remarks: Vec<String>,
    tags: BTreeMap<String, String>,
}

async fn set(State(shared): State<Shared>, id: Named<String>, body: Body) -> Result<Response, Failure> {
    let given: Given = json_body(body)?;
    let id = one_run(&shared, named(id)?).await?;
    if given.tags.iter().flatten().any(|(key, _)| key.trim().is_empty() || key.contains('=')) {
        return Err(Failure::wrong("the name of a tag is not empty and has no `=`"));
    }
    let store = shared.settings.store.clone();
    let labels = blocking(move || {
        store.change_labels(&id, |entry| {
            let labels = &mut entry.labels;
            if let Some(name) = given.name {
                labels.name = name.filter(|name| !name.is_empty());
            }
            if let Some(tags) = given.tags {
                labels.tags = tags;
            }
            labels.baseline = given.baseline.unwrap_or(labels.baseline);
            if let Some(remarks) = given.remarks {
                labels.remarks = remarks;
            }
            Ok(labels.clone())
        })
    });
    let fenxi_store::Labels { baseline, name, remarks, tags, .. } = labels.await?;
    done(&Labels { baseline, name, remarks, tags })
}
