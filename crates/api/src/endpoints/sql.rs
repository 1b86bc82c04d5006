//! `/api/v1/sql`: any read-only statement.

use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_query::{AnswerColumn, QueryError, render};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

/// Rows of an answer unless others are asked for, and at most.
const ROWS: usize = 10_000;
const MOST_ROWS: usize = 1_000_000;

pub(super) const SQL: Endpoint = Endpoint {
    path: "/api/v1/sql",
    about: "The answer to any statement that only reads, over the tables of the runs. JSON: columns, and rows as lists; \
            `cut` tells that there are more rows than `limit`, then `total` is null. Arrow (a stream) and CSV hold the \
            first `limit` rows.",
    params: &[
        Param::required("q", "Statement", Kind::Text),
        chosen::ANY_RUN,
        Param::optional("limit", "Maximum number of rows; default 10000", Kind::Count),
        Param::optional("format", "`json` (default), `arrow` or `csv`", Kind::Text),
    ],
    changes: false,
    answer,
    schema: schema::of::<SqlRows>,
};

/// The first rows of an answer.
struct First {
    columns: Vec<AnswerColumn>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    cut: bool,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let begin = Instant::now();
    let write = match query.get("format").unwrap_or("json") {
        "json" => json,
        "arrow" => arrow,
        "csv" => csv,
        other => return Err(ApiError::Wrong(format!("`format` is json, arrow or csv, not `{other}`"))),
    };
    write(&first(context, query)?, &Writing { begin, limits: context.engine.limits(begin) })
}

/// When a request began, and what its answer may take as text.
struct Writing {
    begin: Instant,
    limits: render::Limits,
}

/// Asks until there are enough rows.
fn first(context: &Context<'_>, query: &Query) -> Result<First, ApiError> {
    let scope = chosen::scope(&chosen::runs(context, query)?, query)?;
    let limit = query.count("limit")?.unwrap_or(ROWS).min(MOST_ROWS);
    let (mut batches, mut rows, mut cut) = (Vec::new(), 0, None);
    let asked = context.engine.each_own(query.required("q")?, &scope, &mut |columns, batch| {
        let part = batch.num_rows().min(limit - rows);
        let schema = batch.schema();
        let more = part < batch.num_rows();
        batches.push(batch.slice(0, part));
        rows += part;
        if more {
            cut = Some((columns.to_vec(), schema));
            // The rest is not wanted: an error is the way to say so.
            return Err(QueryError::Interrupted);
        }
        Ok(())
    });
    let (columns, schema, cut) = match (asked, cut) {
        (Err(QueryError::Interrupted), Some((columns, schema))) => (columns, schema, true),
        (asked, _) => {
            let (columns, schema) = asked?;
            (columns, schema, false)
        }
    };
    Ok(First { columns, schema, batches, rows, cut })
}

/// The answer as JSON; [`json`] writes it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
struct SqlRows {
    columns: Vec<SqlColumn>,
    rows: Vec<Vec<SqlCell>>,
    /// Whether there are more rows.
    cut: bool,
    took_ms: u64,
    /// Rows of the whole answer; null where it was cut.
    total: Option<usize>,
}

#[derive(JsonSchema, Serialize)]
struct SqlColumn {
    name: String,
    /// The type in SQL.
    #[serde(rename = "type")]
    ty: String,
    unit: &'static str,
}

/// A value of an answer; times are in ISO 8601.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
enum SqlCell {
    Missing(()),
    Truth(bool),
    Number(f64),
    Text(String),
    List(Vec<SqlCell>),
}

/// Rows are written within limits, not made into values before: as those they would take many times their memory.
fn json(first: &First, writing: &Writing) -> Result<Reply, ApiError> {
    let column = |c: &AnswerColumn| SqlColumn { name: c.name.clone(), ty: c.ty.to_string(), unit: c.unit.symbol() };
    let columns: Vec<SqlColumn> = first.columns.iter().map(column).collect();
    let rows = render::json_lists(&first.batches, writing.limits)?;
    let total = serde_json::to_string(&(!first.cut).then_some(first.rows))?;
    let text = format!(
        r#"{{"columns":{},"rows":{rows},"cut":{},"took_ms":{},"total":{total}}}"#,
        serde_json::to_string(&columns)?,
        first.cut,
        writing.begin.elapsed().as_millis()
    );
    Ok(Reply { content_type: Reply::JSON, bytes: text.into_bytes() })
}

fn csv(first: &First, writing: &Writing) -> Result<Reply, ApiError> {
    let mut bytes = Vec::new();
    let style = render::Style::default();
    let mut writer = render::Writer::within(writing.limits, render::Format::Csv, style, &mut bytes);
    for batch in &first.batches {
        writer.batch(&first.columns, batch)?;
    }
    writer.finish(&first.columns, &first.schema)?;
    Ok(Reply { content_type: "text/csv; charset=utf-8", bytes })
}

fn arrow(first: &First, _: &Writing) -> Result<Reply, ApiError> {
    let failed = |e: arrow_schema::ArrowError| ApiError::Failed(e.to_string());
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &first.schema).map_err(failed)?;
    for batch in &first.batches {
        writer.write(batch).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(failed)?;
    Ok(Reply { content_type: "application/vnd.apache.arrow.stream", bytes })
}
