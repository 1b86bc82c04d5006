//! `/api/v1/runs/{id}/labels`: name, tags, remarks and baseline flag, with a version that a change can be bound to.

use std::collections::BTreeMap;

use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
    routing::put,
};
use fenxi_api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Named, Operation, Takes, blocking, done, given, json_body, named, one_run, text_schema};
use crate::{reply::Failure, rights::Right, visit::Visit};

/// Where labels are.
pub(crate) const LABELS: &str = "/api/v1/runs/{id}/labels";

pub(super) const PUT: Operation = Operation {
    method: Method::PUT,
    path: LABELS,
    about: "Changes the labels of a run. Omitted fields stay; given tags and remarks replace the previous ones, unless somebody \
            has changed the labels since the `ETag` that `If-Match` names.",
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
    right: Right::Write,
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
pub(crate) struct Labels {
    baseline: bool,
    name: Option<String>,
    remarks: Vec<String>,
    tags: BTreeMap<String, String>,
}

/// `GET`: the labels, with their version.
pub(crate) async fn get(visit: Visit, id: Named<String>) -> Result<Response, Failure> {
    let (store, id) = one_run(&visit, named(id)?).await?;
    answer(blocking(move || Ok(store.run(&id)?.labels)).await?)
}

async fn set(visit: Visit, id: Named<String>, headers: HeaderMap, body: Body) -> Result<Response, Failure> {
    let given: Given = json_body(body)?;
    let (store, id) = one_run(&visit, named(id)?).await?;
    if given.tags.iter().flatten().any(|(key, _)| key.trim().is_empty() || key.contains('=')) {
        return Err(Failure::wrong("the name of a tag is not empty and has no `=`"));
    }
    let labels = blocking(move || {
        store.change_labels(&id, |entry| {
            let labels = &mut entry.labels;
            if !is_matched(&headers, &format!("\"{}\"", labels.version())) {
                let text = "somebody has changed these labels meanwhile; read them again, and try again";
                return Err(Failure::new(StatusCode::PRECONDITION_FAILED, text));
            }
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
    answer(labels.await?)
}

/// The labels, and their version as `ETag`.
fn answer(labels: fenxi_store::Labels) -> Result<Response, Failure> {
    let version = HeaderValue::from_str(&format!("\"{}\"", labels.version()));
    let fenxi_store::Labels { baseline, name, remarks, tags, .. } = labels;
    let mut response = done(&Labels { baseline, name, remarks, tags })?;
    if let Ok(version) = version {
        response.headers_mut().insert(header::ETAG, version);
    }
    Ok(response)
}

/// Whether the request is to be done on this `version`: `If-Match` names it, or any, or is missing.
fn is_matched(headers: &HeaderMap, version: &str) -> bool {
    let mut wanted = headers.get_all(header::IF_MATCH).iter().peekable();
    let tags = |value: &HeaderValue| {
        let tags = value.to_str().unwrap_or_default();
        tags.split(',').any(|tag| [version, "*"].contains(&tag.trim()))
    };
    wanted.peek().is_none() || wanted.any(tags)
}
