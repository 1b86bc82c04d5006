//! `/api/v1/stacks`: sampled stacks, aggregated for flame graphs.

use fenxi_model::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

/// Most different stacks of a run; the rarest are left out and only counted.
const STACKS: usize = 20_000;

/// Frames of a stack that are given; charts draw no more.
const FRAMES: usize = 1000;

pub(super) const STACKS_ENDPOINT: Endpoint = Endpoint {
    path: "/api/v1/stacks",
    about: "Stacks of runs, folded (frames from the outermost to the innermost, with `;` between) and summed: how many \
            samples, or seconds where only those are known. `total` counts also what is left out. Of a stack of more than \
            1,000 frames the last one says how many more there are.",
    params: &[
        chosen::RUN,
        chosen::FROM,
        chosen::TO,
        Param::optional("comm", "Only stacks of this program", Kind::Text),
    ],
    changes: false,
    answer,
    schema: schema::of::<Stacks>,
};

/// Sampled stacks.
#[derive(JsonSchema, Serialize)]
struct Stacks {
    runs: Vec<OfRun>,
}

/// The stacks of a run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RunStacks")]
struct OfRun {
    #[schemars(with = "String")]
    run: RunId,
    /// Sum over all stacks, also those left out.
    total: f64,
    /// `samples` or `s`.
    unit: &'static str,
    /// Folded stacks with their weights, the heaviest first.
    stacks: Vec<(String, f64)>,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    let sql = "WITH summed AS (
            SELECT run, concat_ws(';', comm, nullif(stack, '')) AS stack, sum(samples) AS samples, sum(time_s) AS time_s
            FROM stack WHERE $comm = '' OR comm = $comm GROUP BY ALL
        ), weighed AS (
            SELECT *, bool_or(samples > 0) OVER (PARTITION BY run) AS counted FROM summed
        ), chosen AS (
            SELECT run, stack, counted, CASE WHEN counted THEN samples ELSE time_s END AS weight FROM weighed
        ), ranked AS (
            SELECT run, stack, counted, weight, sum(weight) OVER (PARTITION BY run) AS total,
                row_number() OVER (PARTITION BY run ORDER BY weight DESC, stack) AS place
            FROM chosen WHERE weight > 0
        )
        SELECT run, stack, counted, weight, total FROM ranked WHERE place <= $n ORDER BY run, weight DESC, stack";
    let comm = ("comm", fenxi_query::Value::Text(query.get("comm").unwrap_or_default().to_owned()));
    let most = ("n", fenxi_query::Value::Int(STACKS as i64));
    let answer = context.engine.ours(sql, &[comm, most], &chosen::scope(&runs, query)?)?;
    let (of, names) = (answer.strings("run"), answer.strings("stack"));
    let (weights, totals, counted) = (answer.f64s("weight"), answer.f64s("total"), answer.strings("counted"));
    let of_run = |run: RunId| {
        let rows: Vec<usize> = (0..of.len()).filter(|row| of[*row].as_deref() == Some(run.as_str())).collect();
        let stack = |row: &usize| Some((bounded(names[*row].as_deref()?), weights[*row]?));
        let is_counted = rows.first().is_none_or(|row| counted[*row].as_deref() != Some("false"));
        OfRun {
            total: rows.first().and_then(|row| totals[*row]).unwrap_or(0.0),
            unit: if is_counted { "samples" } else { "s" },
            stacks: rows.iter().filter_map(stack).collect(),
            run,
        }
    };
    Reply::json(&Stacks { runs: runs.into_iter().map(of_run).collect() })
}

/// A stack with no more than [`FRAMES`], and one that says how many more there were.
fn bounded(stack: &str) -> String {
    match stack.match_indices(';').nth(FRAMES - 1) {
        Some((end, _)) if stack[end + 1..].contains(';') => {
            let more = stack[end + 1..].split(';').count();
            format!("{};[{more} more frames]", &stack[..end])
        }
        _ => stack.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FRAMES, bounded};

    #[test]
    fn a_stack_without_an_end_is_cut_and_says_so() {
        let stack = |frames: usize| (0..frames).map(|i| format!("f{i}")).collect::<Vec<_>>().join(";");
        for frames in [1, FRAMES, FRAMES + 1] {
            assert_eq!(bounded(&stack(frames)), stack(frames));
        }
        let cut = bounded(&stack(100_000));
        assert_eq!(cut, stack(FRAMES) + ";[99000 more frames]");
    }
}
