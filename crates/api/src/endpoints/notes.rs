//! `/api/v1/notes`: what could not be read while recording or importing a run.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

/// Rows unless others are asked for.
const ROWS: usize = 200;

pub(super) const NOTES: Endpoint = Endpoint {
    path: "/api/v1/notes",
    about: "Notes: what could not be read while recording or importing runs, with file and line.",
    params: &[chosen::RUN, Param::optional("limit", "Maximum number of rows; default 200", Kind::Count)],
    changes: false,
    answer,
    schema: schema::of::<Notes>,
};

/// What could not be read.
#[derive(JsonSchema, Serialize)]
struct Notes {
    /// Rows of the whole answer.
    total: usize,
    rows: Vec<Note>,
}

/// One thing that could not be read.
#[derive(JsonSchema, Serialize)]
struct Note {
    run: Option<String>,
    source: Option<String>,
    file: Option<String>,
    line: Option<i64>,
    text: Option<String>,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    let sql = "SELECT run, source, file, line, message, count(*) OVER () AS total FROM note
        ORDER BY run, file, line NULLS FIRST, message LIMIT $n";
    let limit = i64::try_from(query.count("limit")?.unwrap_or(ROWS)).unwrap_or(i64::MAX);
    let limit = ("n", fenxi_query::Value::Int(limit));
    let answer = context.engine.ours(sql, &[limit], &chosen::scope(&runs, query)?)?;
    let mut columns = ["run", "source", "file", "message"].map(|name| answer.strings(name).into_iter());
    let mut next = |place: usize| columns[place].next().flatten();
    let rows = answer.f64s("line").into_iter().map(|line| Note {
        run: next(0),
        source: next(1),
        file: next(2),
        line: line.map(|l| l as i64),
        text: next(3),
    });
    let rows = rows.collect();
    let total = answer.f64s("total").first().copied().flatten().unwrap_or(0.0) as usize;
    Reply::json(&Notes { total, rows })
}
