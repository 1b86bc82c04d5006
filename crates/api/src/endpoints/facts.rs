//! `/api/v1/facts`: facts about systems, by run.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

pub(super) const FACTS: Endpoint = Endpoint {
    path: "/api/v1/facts",
    about: "Facts of runs by topic and name: a value for each run, null where it has none.",
    params: &[
        chosen::RUN,
        Param::optional("topic", "Only facts of this topic", Kind::Text),
        Param::optional("differ", "Only facts that differ between runs", Kind::Flag),
    ],
    changes: false,
    answer,
    schema: schema::of::<Facts>,
};

/// Facts of runs.
#[derive(JsonSchema, Serialize)]
struct Facts {
    topics: Vec<Topic>,
}

/// Facts about one thing.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FactTopic")]
struct Topic {
    topic: String,
    rows: Vec<Row>,
}

/// A fact.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FactRow")]
struct Row {
    name: String,
    /// Its value in each run; null where it has none.
    values: Vec<Option<String>>,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    let mut of_runs: Vec<BTreeMap<(String, String), String>> =
        runs.iter().map(|id| context.store.facts(id)).collect::<Result<_, _>>()?;
    let keys: BTreeSet<(String, String)> = of_runs.iter().flat_map(|facts| facts.keys().cloned()).collect();
    let mut topics: Vec<Topic> = Vec::new();
    for key in keys.into_iter().filter(|(topic, _)| query.get("topic").is_none_or(|wanted| wanted == topic)) {
        let values: Vec<Option<String>> = of_runs.iter_mut().map(|facts| facts.remove(&key)).collect();
        if query.flag("differ") && values.windows(2).all(|w| w[0] == w[1]) {
            continue;
        }
        let (topic, name) = key;
        match topics.last_mut() {
            Some(last) if last.topic == topic => last.rows.push(Row { name, values }),
            _ => topics.push(Topic { topic, rows: vec![Row { name, values }] }),
        }
    }
    Reply::json(&Facts { topics })
}
