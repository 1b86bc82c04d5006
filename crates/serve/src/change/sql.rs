//! `POST /api/v1/sql`: like GET, for statements too long for a URL.

use axum::{http::Method, response::Response, routing::post};
use fenxi_api::{ENDPOINTS, Endpoint, Query};
use schemars::{Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use super::{Body, Operation, Takes, json_body, text_schema};
use crate::{ask, reply::Failure, rights::Right, visit::Visit};

pub(super) const POST: Operation = Operation {
    method: Method::POST,
    path: ask::SQL,
    about: "Like `GET /api/v1/sql`, for long statements. Read-only servers answer it too.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false, "required": ["q"],
            "example": { "q": "SELECT t, usr FROM cpu", "run": ["@1"], "limit": 10 },
            "properties": {
                "q": text_schema("The statement"),
                "run": { "type": "array", "items": text_schema("A run, or a selector of several") },
                "limit": { "type": "integer", "minimum": 0, "description": "Maximum number of rows" },
                "format": { "type": "string", "enum": ["json", "arrow", "csv"] },
            },
        })
    }),
    gives: "The answer, as for `GET`",
    schema,
    right: Right::See,
    route: || post(answer),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    q: String,
    #[serde(default)]
    run: Vec<String>,
    limit: Option<u64>,
    format: Option<String>,
}

fn endpoint() -> Option<&'static Endpoint> {
    ENDPOINTS.iter().copied().find(|e| e.path == ask::SQL)
}

fn schema(generator: &mut SchemaGenerator) -> Schema {
    endpoint().map_or_else(Schema::default, |endpoint| (endpoint.schema)(generator))
}

async fn answer(visit: Visit, body: Body) -> Result<Response, Failure> {
    let given: Given = json_body(body)?;
    let endpoint = endpoint().ok_or_else(|| Failure::unknown(format!("there is no {}", ask::SQL)))?;
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let mut pairs = vec![pair("q", given.q)];
    pairs.extend(given.run.into_iter().map(|run| pair("run", run)));
    pairs.extend(given.limit.map(|limit| pair("limit", limit.to_string())));
    pairs.extend(given.format.map(|format| pair("format", format)));
    ask::answer(&visit, endpoint, Query::of(pairs)).await
}
