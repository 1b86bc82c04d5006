//! `/api/v1/boards` and `/api/v1/board`: pages that somebody wrote, text with questions in it.

use fenxi_model::RunId;
use fenxi_query::{Asks, Block, Board, QueryError, Question, What, board, boards, question};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen,
    run::{self, Details},
    schema,
};

pub(super) const BOARDS: Endpoint = Endpoint {
    path: "/api/v1/boards",
    about: "The boards of the store: pages of text with questions in it, `boards/NAME.md`.",
    params: &[],
    changes: true,
    answer: list,
    schema: schema::of::<Boards>,
};

pub(super) const BOARD: Endpoint = Endpoint {
    path: "/api/v1/board",
    about: "A board: its text, and the requests that answer its questions, in their order.",
    params: &[
        Param::required("name", "Name of the board: the file's without `.md`", Kind::Text),
        Param::optional("run", "Runs for questions that name none, instead of the board's own", Kind::Text).many(),
    ],
    changes: true,
    answer,
    schema: schema::of::<Laid>,
};

/// The boards of the store.
#[derive(JsonSchema, Serialize)]
struct Boards {
    boards: Vec<Listed>,
}

/// A board by its name.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ListedBoard")]
struct Listed {
    name: String,
    title: String,
    /// What is wrong with its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A board laid out.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BoardAnswer")]
pub(crate) struct Laid {
    pub name: String,
    pub title: String,
    /// All runs that its questions are about.
    pub runs: Vec<Details>,
    pub blocks: Vec<Part>,
}

/// Text, or a question.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BoardBlock")]
pub(crate) struct Part {
    /// Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asked>,
}

/// A question of a board.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BoardAsks")]
pub(crate) struct Asked {
    /// The question's name; absent of one that the board brings with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// Its heading on the board.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Names and values of the request `panel` that answers it.
    pub request: Vec<(String, String)>,
    /// Those of the question that is drawn over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Vec<(String, String)>>,
    /// Places of its runs among those of the board.
    runs: Vec<usize>,
    /// Why it cannot be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn list(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    let listed = |(name, read): (String, Result<Board, QueryError>)| match read {
        Ok(board) => Listed { name, title: board.title, error: None },
        Err(error) => Listed { title: name.clone(), name, error: Some(error.to_string()) },
    };
    Reply::json(&Boards { boards: boards(context.store)?.into_iter().map(listed).collect() })
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    Reply::json(&laid(context, query)?)
}

/// The board that `query` names, with the runs that are meant now.
pub(crate) fn laid(context: &Context<'_>, query: &Query) -> Result<Laid, ApiError> {
    let Board { name, title, run, blocks } = board(context.store, query.required("name")?)?;
    let mut given = chosen::runs(context, query)?;
    if given.is_empty() {
        given = chosen::named(context.store, run.as_deref().unwrap_or("@1"))?;
    }
    let mut ids: Vec<RunId> = Vec::new();
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        parts.push(match block {
            Block::Text(text) => Part { text: Some(text), asks: None },
            Block::Asks(asks) => Part { text: None, asks: Some(asked(context, asks, &given, &mut ids)) },
        });
    }
    if ids.is_empty() {
        ids = given;
    }
    Ok(Laid { name, title, runs: run::all(context, &ids)?, blocks: parts })
}

/// The requests of a question; what cannot be asked says why in its place.
fn asked(context: &Context<'_>, asks: Asks, given: &[RunId], all: &mut Vec<RunId>) -> Asked {
    let named = match &asks.what {
        What::Named(name) => Some(name.clone()),
        What::Own(_) => None,
    };
    let mut out = Asked {
        question: named,
        title: asks.title.clone(),
        request: Vec::new(),
        over: None,
        runs: Vec::new(),
        error: None,
    };
    let runs = match &asks.run {
        Some(selectors) => chosen::named(context.store, selectors),
        None => Ok(given.to_vec()),
    };
    let known = |name: &String| question(context.store, name).map(drop).map_err(ApiError::from);
    let checked = runs.and_then(|runs| {
        if let What::Named(name) = &asks.what {
            known(name)?;
        }
        asks.over.iter().try_for_each(known)?;
        Ok(runs)
    });
    let runs = match checked {
        Ok(runs) => runs,
        Err(error) => {
            out.error = Some(format!("line {}: {error}", asks.line));
            return out;
        }
    };
    for run in &runs {
        let place = all.iter().position(|known| known == run).unwrap_or_else(|| {
            all.push(run.clone());
            all.len() - 1
        });
        out.runs.push(place);
    }
    let when = [("from", asks.from), ("to", asks.to)];
    let when = when.into_iter().filter_map(|(name, at)| Some((name.to_owned(), at?.to_string())));
    let about: Vec<(String, String)> = runs.iter().map(|run| ("run".to_owned(), run.to_string())).chain(when).collect();
    let params = asks.params.into_iter().map(|(name, value)| (format!("p.{name}"), value));
    out.request = what(&asks.what).into_iter().chain(about.clone()).chain(params).collect();
    out.over = asks.over.map(|name| std::iter::once(("question".to_owned(), name)).chain(about).collect());
    out
}

fn what(what: &What) -> Vec<(String, String)> {
    let pair = |name: &str, value: String| (name.to_owned(), value);
    match what {
        What::Named(name) => vec![pair("question", name.clone())],
        What::Own(own) => {
            let Question { sql, chart, x, y, series, unit, .. } = own.as_ref();
            let rest = [
                ("x", x.clone()),
                ("y", Some(y.join(","))),
                ("series", series.clone()),
                ("unit", Some(unit.symbol().to_owned())),
            ];
            let rest = rest.into_iter().filter_map(|(name, value)| Some(pair(name, value.filter(|v| !v.is_empty())?)));
            [pair("sql", sql.trim().to_owned()), pair("chart", chart.word().to_owned())]
                .into_iter()
                .chain(rest)
                .collect()
        }
    }
}
