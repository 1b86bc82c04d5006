//! `/api/v1/runs/{id}/windows/{name}`: named parts of a run.

use axum::{
    extract::State,
    http::Method,
    response::Response,
    routing::{delete, put},
};
use fenxi_model::Micros;
use fenxi_store::Window;
use serde::Deserialize;
use serde_json::json;

use super::{Body, Named, Operation, Takes, blocking, done, json_body, named, one_run};
use crate::{app::Shared, reply::Failure};

pub(super) const PUT: Operation = Operation {
    method: Method::PUT,
    path: "/api/v1/runs/{id}/windows/{name}",
    about: "Names a part of a run; the one named `steady` is what comparisons use without being told.",
    takes: Takes::Json(|| {
        json!({
            "type": "object", "additionalProperties": false, "required": ["from_s", "to_s"],
            "example": { "from_s": 0.2, "to_s": 0.8 },
            "properties": {
                "from_s": { "type": "number", "minimum": 0, "description": "Its begin, in seconds from the run's begin" },
                "to_s": { "type": "number", "minimum": 0, "description": "Its end, in seconds from the run's begin" },
            },
        })
    }),
    gives: "The window as it is now",
    changes: true,
    route: || put(set),
};

pub(super) const DELETE: Operation = Operation {
    method: Method::DELETE,
    path: PUT.path,
    about: "Forgets a named part of a run; one that the run was made with stays.",
    takes: Takes::Nothing,
    gives: "The name of the window that was forgotten",
    changes: true,
    route: || delete(remove),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    from_s: f64,
    to_s: f64,
}

async fn set(State(shared): State<Shared>, path: Named<(String, String)>, body: Body) -> Result<Response, Failure> {
    let (run, name) = named(path)?;
    let Given { from_s, to_s } = json_body(body)?;
    if name.is_empty() || name.len() > 100 || ["all", "auto"].contains(&name.as_str()) || name.contains("..") {
        return Err(Failure::wrong(format!("`{name}` cannot be the name of a window")));
    }
    let id = one_run(&shared, run).await?;
    let store = shared.settings.store.clone();
    let window = blocking(move || {
        let mut entry = store.run(&id)?;
        let manifest = &entry.manifest;
        // A second more than it lasted: a page rounds.
        if !(0.0..manifest.seconds()).contains(&from_s) || to_s <= from_s || to_s > manifest.seconds() + 1.0 {
            let text = format!("{from_s} s to {to_s} s is no part of a run of {:.1} s", manifest.seconds());
            return Err(Failure::wrong(text));
        }
        let at = |seconds: f64| Micros(manifest.start.0 + (seconds * 1e6) as i64);
        let window = Window { name, start: at(from_s), end: at(to_s).min(manifest.end) };
        entry.labels.set_window(window.clone());
        store.set_labels(&id, &entry.labels)?;
        let seconds = |t: Micros| t.seconds_since(entry.manifest.start);
        Ok(json!({ "name": window.name, "from_s": seconds(window.start), "to_s": seconds(window.end) }))
    });
    Ok(done(window.await?))
}

async fn remove(State(shared): State<Shared>, path: Named<(String, String)>) -> Result<Response, Failure> {
    let (run, name) = named(path)?;
    let id = one_run(&shared, run).await?;
    let store = shared.settings.store.clone();
    let removed = blocking(move || {
        let mut entry = store.run(&id)?;
        if !entry.labels.remove_window(&name) {
            return Err(Failure::unknown(format!("run {id} has no window `{name}` that could be removed")));
        }
        store.set_labels(&id, &entry.labels)?;
        Ok(name)
    });
    Ok(done(json!({ "removed": removed.await? })))
}
