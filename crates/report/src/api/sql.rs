//! `/api/v1/sql`: any read-only statement.

use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_query::{AnswerColumn, QueryError, render};
use serde::Serialize;
use serde_json::{Value, json};

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen};

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
    answer,
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
    write(&first(context, query)?, begin)
}

/// Asks until there are enough rows.
fn first(context: &Context<'_>, query: &Query) -> Result<First, ApiError> {
    let scope = chosen::scope(&chosen::runs(context, query)?, query)?;
    let limit = query.count("limit")?.unwrap_or(ROWS).min(MOST_ROWS);
    let (mut batches, mut rows, mut cut) = (Vec::new(), 0, None);
    let asked = context.engine.each(query.required("q")?, &[], &scope, &mut |columns, batch| {
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

#[derive(Serialize)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    unit: &'static str,
}

fn json(first: &First, begin: Instant) -> Result<Reply, ApiError> {
    let column = |c: &AnswerColumn| Column { name: c.name.clone(), ty: c.ty.to_string(), unit: c.unit.symbol() };
    let columns: Vec<Column> = first.columns.iter().map(column).collect();
    let mut bytes = b"{\"columns\":".to_vec();
    serde_json::to_writer(&mut bytes, &columns)?;
    bytes.extend_from_slice(b",\"rows\":[");
    // Row by row, so that only text is held of an answer that may be large.
    let mut is_first = true;
    for batch in &first.batches {
        let columns: Vec<Vec<Value>> = batch.columns().iter().map(render::values).collect::<Result<_, _>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for _ in 0..batch.num_rows() {
            if !std::mem::take(&mut is_first) {
                bytes.push(b',');
            }
            let row: Vec<Value> = columns.iter_mut().filter_map(Iterator::next).collect();
            serde_json::to_writer(&mut bytes, &row)?;
        }
    }
    let total = (!first.cut).then_some(first.rows);
    let end = json!({ "total": total, "cut": first.cut, "took_ms": begin.elapsed().as_millis() as u64 });
    bytes.extend_from_slice(b"],");
    // Without its brace, as the rest of what has begun.
    bytes.extend_from_slice(&serde_json::to_vec(&end)?[1..]);
    Ok(Reply { content_type: Reply::JSON, bytes })
}

fn csv(first: &First, _: Instant) -> Result<Reply, ApiError> {
    let mut bytes = Vec::new();
    let mut writer = render::Writer::new(render::Format::Csv, render::Style::default(), &mut bytes);
    for batch in &first.batches {
        writer.batch(&first.columns, batch)?;
    }
    writer.finish(&first.columns, &first.schema)?;
    Ok(Reply { content_type: "text/csv; charset=utf-8", bytes })
}

fn arrow(first: &First, _: Instant) -> Result<Reply, ApiError> {
    let failed = |e: arrow_schema::ArrowError| ApiError::Failed(e.to_string());
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &first.schema).map_err(failed)?;
    for batch in &first.batches {
        writer.write(batch).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(failed)?;
    Ok(Reply { content_type: "application/vnd.apache.arrow.stream", bytes })
}
