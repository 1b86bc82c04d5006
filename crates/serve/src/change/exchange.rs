//! `POST /api/v1/exchange`: what another store needs to become the union of both: which runs are here, and their labels.

use std::collections::BTreeMap;

use axum::{http::Method, response::Response, routing::post};
use fenxi_api::schema;
use fenxi_carry::{Exchange, ManyLabels, Offer, Server, merge};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Body, Operation, Takes, blocking, done, json_body, read_only};
use crate::{reply::Failure, rights::Right, visit::Visit};

pub(super) const POST: Operation = Operation {
    method: Method::POST,
    path: Server::EXCHANGE,
    about: "Merges labels of runs into those that they have here, and answers which runs this store has. With this, \
            `GET /api/v1/export` and `POST /api/v1/import`, `fenxi store push` and `pull` make two stores the union of both. \
            Without labels it needs no right to write, and a read-only server answers it too.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false, "example": { "labels": {} },
            "properties": {
                "labels": {
                    "type": "object", "additionalProperties": { "type": "object" },
                    "description": "Labels by the id of their run, as this answers them; runs that are not here are left out",
                },
            },
        })
    }),
    gives: "The runs of this store, and fields of labels that both sides have changed",
    schema: schema::of::<Answer>,
    right: Right::See,
    route: || post(exchange),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    labels: ManyLabels,
}

/// A run of a store, for another store.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it is the description of what `fenxi_carry` writes")]
#[schemars(rename = "OfferedRun")]
struct Offered {
    /// Digest of its manifest: equal where the runs are.
    digest: String,
    /// Bytes of its files.
    bytes: u64,
    /// Its labels, with who has changed them.
    labels: serde_json::Map<String, Value>,
}

/// What a store has, for another store.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it is the description of what `fenxi_carry` writes")]
#[schemars(rename = "Exchange")]
struct Answer {
    /// Its runs, by id.
    runs: BTreeMap<String, Offered>,
    /// Runs that cannot be read, and why.
    unreadable: BTreeMap<String, String>,
    /// Fields of labels that both sides have changed: run, field, what is kept and what the other had, and who set them.
    conflicts: Vec<Value>,
}

async fn exchange(visit: Visit, body: Body) -> Result<Response, Failure> {
    let Given { labels } = json_body(body)?;
    if !labels.is_empty() {
        visit.asker.may(Right::Write)?;
        if visit.settings.read_only {
            return Err(read_only());
        }
    }
    let answer = blocking(move || {
        let store = visit.store()?;
        let conflicts = merge(&store, &labels)?;
        Ok(Exchange { offer: Offer::of(&store)?, conflicts })
    });
    done(&answer.await?)
}
