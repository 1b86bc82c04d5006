//! `/api/v1/questions/{name}`: user questions of the store.

use axum::{
    http::Method,
    response::Response,
    routing::{delete, put},
};
use fenxi_api::{ApiError, schema};
use fenxi_query::{Question, Scope, forget_question, keep_question};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Body, Named, Operation, Removed, Takes, blocking, bytes, done, named};
use crate::{pool::Weight, reply::Failure, rights::Right, visit::Visit};

pub(super) const PUT: Operation = Operation {
    method: Method::PUT,
    path: "/api/v1/questions/{name}",
    about: "Keeps a question in the store, from then on a panel of every run's page and report. It is the text of a file \
            as in `questions/`: a header of `-- key: value` lines, then SQL. One of the same name is replaced, a shipped \
            one hidden.",
    takes: Takes::Text("The question's text"),
    gives: "The question's name",
    schema: schema::of::<KeptQuestion>,
    right: Right::WriteAll,
    route: || put(keep),
};

pub(super) const DELETE: Operation = Operation {
    method: Method::DELETE,
    path: PUT.path,
    about: "Removes a user question; a shipped one of the same name becomes active again.",
    takes: Takes::Nothing,
    gives: "Name of the removed question",
    schema: schema::of::<Removed>,
    right: Right::WriteAll,
    route: || delete(forget),
};

/// A question that was kept.
#[derive(JsonSchema, Serialize)]
struct KeptQuestion {
    name: String,
}

async fn keep(visit: Visit, name: Named<String>, body: Body) -> Result<Response, Failure> {
    let (name, body) = (named(name)?, bytes(body)?);
    let text = String::from_utf8(body.to_vec()).map_err(|_| Failure::wrong("the question is not UTF-8"))?;
    let (kept, asked) = (name.clone(), text.clone());
    let check = move |context: &fenxi_api::Context<'_>| {
        let question = Question::parse(&name, &text)?;
        // Over no run at all: that shows whether the engine understands it, at no cost.
        let explained = format!("EXPLAIN {}", question.sql.trim());
        let plan = context.engine.query_with(&explained, &question.bind(&[])?, &Scope::of([]));
        plan.map(drop).map_err(ApiError::from)
    };
    visit.pool.ask(Weight::Free, &visit.asker, false, check).await?;
    let said = KeptQuestion { name: kept.clone() };
    blocking(move || keep_question(&visit.store()?, &kept, &asked).map_err(|e| ApiError::from(e).into())).await?;
    done(&said)
}

async fn forget(visit: Visit, name: Named<String>) -> Result<Response, Failure> {
    let name = named(name)?;
    let said = Removed { removed: name.clone() };
    blocking(move || forget_question(&visit.store()?, &name).map_err(|e| ApiError::from(e).into())).await?;
    done(&said)
}
