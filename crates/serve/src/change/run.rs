//! `DELETE /api/v1/runs/{id}`: removes a run.

use axum::{http::Method, response::Response, routing::delete};
use fenxi_api::schema;
use fenxi_model::RunId;

use super::{Named, Operation, Removed, Takes, blocking, done, named};
use crate::{reply::Failure, rights::Right, visit::Visit};

pub(super) const DELETE: Operation = Operation {
    method: Method::DELETE,
    path: "/api/v1/runs/{id}",
    about: "Deletes a run and its labels permanently. Requires the full id, so that a typing error cannot delete another run.",
    takes: Takes::Nothing,
    gives: "Id of the deleted run",
    schema: schema::of::<Removed>,
    right: Right::Admin,
    route: || delete(remove),
};

async fn remove(visit: Visit, id: Named<String>) -> Result<Response, Failure> {
    let text = named(id)?;
    let id = RunId::parse(&text).ok_or_else(|| Failure::wrong(format!("`{text}` is no id of a run")))?;
    let removed = id.clone();
    blocking(move || Ok(visit.store()?.remove(&id)?)).await?;
    done(&Removed { removed: removed.to_string() })
}
