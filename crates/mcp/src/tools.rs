//! The tools: one list. A tool is an endpoint of the API under a name, with those of its parameters that are of use here, and how
//! its reply is shown.

use fenxi_api::{ApiError, Context, ENDPOINTS, Kind, Param, Query};
use serde_json::{Map, Value, json};

use crate::{chart::chart, panel::Panel, png::png, svg::svg, tool_text::ToolOutput};

/// A tool.
pub(crate) struct Tool {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// The endpoint that answers, and whose parameters these are.
    path: &'static str,
    /// Those of its parameters that the tool has; all when it is empty.
    params: &'static [&'static str],
    /// Parameters that the endpoint does not have: name, meaning.
    own: &'static [(&'static str, &'static str)],
    /// Parameters used where none is given: name, value.
    unless: &'static [(&'static str, &'static str)],
    tell: fn(&Context<'_>, &Query) -> Result<ToolOutput, ApiError>,
}

/// Every tool, in the order in which a client shows them.
const TOOLS: &[Tool] = &[
    Tool {
        name: "list_runs",
        title: "List runs",
        about: "Runs of the store, latest first: ids, names, hosts, commands, tags, parameters, results, tables.",
        path: "/api/v1/runs",
        params: &["where", "text", "host", "from", "to", "sort", "desc", "limit", "offset"],
        own: &[],
        unless: &[("limit", "20")],
        tell: |context, query| plain(context, "/api/v1/runs", query),
    },
    Tool {
        name: "show_run",
        title: "Show runs",
        about: "Metadata of runs: command, duration, exit status, windows, recording overhead, tables with rows.",
        path: "/api/v1/run",
        params: &[],
        own: &[],
        unless: &[("run", "@1")],
        tell: |context, query| {
            let mut value = json_of(context, "/api/v1/run", query)?;
            // The questions of a page: the tool `questions` has them.
            value.as_object_mut().map(|all| all.remove("sections"));
            Ok(ToolOutput::json(&value))
        },
    },
    Tool {
        name: "catalogue",
        title: "Describe tables",
        about: "Tables that runs may have. Without `table` a list of names and meanings; with it the columns of that table with \
                type, unit, better direction and meaning.",
        path: "/api/v1/catalogue",
        params: &[],
        own: &[("table", "Name of a table")],
        unless: &[],
        tell: catalogue,
    },
    Tool {
        name: "questions",
        title: "List questions",
        about: "The prepared questions: name, title, what the answer shows, section, parameters. `ask` answers one.",
        path: "/api/v1/questions",
        params: &[],
        own: &[("section", "Only questions of this section, such as cpu, memory, disk, db")],
        unless: &[],
        tell: questions,
    },
    Tool {
        name: "ask",
        title: "Ask a question",
        about: "Answers a prepared question for runs: rows of a table, or series over time (mean of each bin, minimum, maximum, \
                trend). `params` are the question's own parameters.",
        path: "/api/v1/panel",
        params: &["question", "run", "from", "to", "bins", "rows", "lines", "p."],
        own: &[],
        unless: &[("run", "@1"), ("bins", "60"), ("rows", "100"), ("lines", "20")],
        tell: |context, query| {
            query.required("question")?;
            Ok(ToolOutput::json(&Panel::ask(context, query)?.told()))
        },
    },
    Tool {
        name: "chart",
        title: "Draw a chart",
        about: "Draws the answer to a question, or to a SQL statement, as a picture: series over time as lines, stacked areas or a \
                heat map; tables as bars or points. `format` is png (default) or svg.",
        path: "/api/v1/panel",
        params: &["question", "sql", "chart", "x", "y", "series", "unit", "run", "from", "to", "p."],
        own: &[("format", "`png` (default) or `svg`")],
        unless: &[("run", "@1"), ("bins", "300"), ("lines", "64")],
        tell: draw,
    },
    Tool {
        name: "sql",
        title: "Query in SQL",
        about: "Answers one SELECT of DuckDB over the tables of `catalogue`; each has the columns run, host, t (timestamp), dt (seconds \
                since the sample before). The table `runs` has names, hosts, times, tags and parameters of runs. Nothing can be written.",
        path: "/api/v1/sql",
        params: &["q", "run", "limit"],
        own: &[],
        unless: &[("limit", "100")],
        tell: |context, query| plain(context, "/api/v1/sql", query),
    },
    Tool {
        name: "findings",
        title: "Find problems",
        about: "What is wrong or unusual in runs: the bottleneck in a sentence, findings with figures, advice, and the question that \
                shows the evidence.",
        path: "/api/v1/findings",
        params: &[],
        own: &[],
        unless: &[("run", "@1")],
        tell: |context, query| plain(context, "/api/v1/findings", query),
    },
    Tool {
        name: "explain",
        title: "Explain latency",
        about: "Splits the mean latency of a transaction, or the elapsed time of a command, into parts that add up to it.",
        path: "/api/v1/explain",
        params: &[],
        own: &[],
        unless: &[("run", "@1")],
        tell: |context, query| plain(context, "/api/v1/explain", query),
    },
    Tool {
        name: "compare",
        title: "Compare groups of runs",
        about: "Whether two groups of runs may be compared, and by how much they differ: effect sizes with confidence intervals, \
                facts and settings that differ. A group is selectors with commas between them; several runs of each give intervals.",
        path: "/api/v1/compare",
        params: &[],
        own: &[],
        unless: &[],
        tell: |context, query| plain(context, "/api/v1/compare", query),
    },
    Tool {
        name: "trend",
        title: "Follow a metric",
        about: "One metric over runs, oldest first, with change points.",
        path: "/api/v1/trend",
        params: &[],
        own: &[],
        unless: &[("last", "100")],
        tell: |context, query| plain(context, "/api/v1/trend", query),
    },
];

/// The tool called `name`.
pub(crate) fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The answer to `tools/list`.
pub(crate) fn list() -> Vec<Value> {
    let one = |tool: &Tool| {
        json!({
            "name": tool.name, "title": tool.title, "description": tool.about, "inputSchema": tool.schema(),
            "annotations": { "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false },
        })
    };
    TOOLS.iter().map(one).collect()
}

impl Tool {
    fn params(&self) -> impl Iterator<Item = &'static Param> {
        let all = ENDPOINTS.iter().find(|e| e.path == self.path).map(|e| e.params).unwrap_or_default();
        all.iter().filter(|p| self.params.is_empty() || self.params.contains(&p.name))
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for param in self.params() {
            let unless = self.unless.iter().find(|(name, _)| *name == param.name).map(|(_, value)| *value);
            let about = match unless {
                Some(value) => format!("{} (default here: {value})", param.about),
                None => param.about.to_owned(),
            };
            if param.name == "p." {
                let of = json!({ "type": ["string", "number"] });
                let about = "Parameters of the question by name";
                properties.insert(
                    "params".to_owned(),
                    json!({ "type": "object", "additionalProperties": of, "description": about }),
                );
                continue;
            }
            let ty = match param.kind {
                Kind::Text => "string",
                Kind::Number => "number",
                Kind::Count => "integer",
                Kind::Flag => "boolean",
            };
            let of = if param.many {
                json!({ "type": "array", "items": { "type": ty }, "description": about })
            } else {
                json!({ "type": ty, "description": about })
            };
            properties.insert(param.name.to_owned(), of);
            if unless.is_none() && (param.required || (self.name == "ask" && param.name == "question")) {
                required.push(param.name);
            }
        }
        for (name, about) in self.own {
            properties.insert((*name).to_owned(), json!({ "type": "string", "description": about }));
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    /// Answers; `rows` bounds the rows of an answer.
    pub(crate) fn call(
        &self,
        context: &Context<'_>,
        given: &Map<String, Value>,
        rows: usize,
    ) -> Result<ToolOutput, ApiError> {
        let mut query = Query::default();
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            query = self.add(query, name, value, rows)?;
        }
        for (name, value) in self.unless.iter().filter(|(name, _)| !given.contains_key(*name)) {
            query = query.with(name, value);
        }
        (self.tell)(context, &query)
    }

    fn add(&self, query: Query, name: &str, value: &Value, rows: usize) -> Result<Query, ApiError> {
        if name == "params" && self.params().any(|p| p.name == "p.") {
            let given = value
                .as_object()
                .ok_or_else(|| ApiError::Wrong("`params` is an object of names and values".to_owned()))?;
            return given
                .iter()
                .try_fold(query, |query, (name, value)| Ok(query.with(&format!("p.{name}"), &scalar(name, value)?)));
        }
        if !self.params().any(|p| p.name == name) && !self.own.iter().any(|(own, _)| *own == name) {
            let known: Vec<&str> = self.params().map(|p| p.name).chain(self.own.iter().map(|(own, _)| *own)).collect();
            return Err(ApiError::Wrong(format!("`{}` has no argument `{name}`: {}", self.name, known.join(", "))));
        }
        match value {
            Value::Array(all) => all.iter().try_fold(query, |query, one| Ok(query.with(name, &scalar(name, one)?))),
            one => {
                let text = scalar(name, one)?;
                let asked = text.parse::<usize>().ok().filter(|n| ["limit", "rows"].contains(&name) && *n > rows);
                Ok(query.with(name, &asked.map_or(text, |_| rows.to_string())))
            }
        }
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, ApiError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(ApiError::Wrong(format!("`{name}` is neither text nor a number"))),
    }
}

/// The reply of an endpoint as JSON.
pub(crate) fn json_of(context: &Context<'_>, path: &str, query: &Query) -> Result<Value, ApiError> {
    Ok(serde_json::from_slice(&fenxi_api::answer(context, path, query)?.bytes)?)
}

fn plain(context: &Context<'_>, path: &str, query: &Query) -> Result<ToolOutput, ApiError> {
    let reply = fenxi_api::answer(context, path, query)?;
    Ok(ToolOutput::Text(String::from_utf8_lossy(&reply.bytes).into_owned()))
}

fn catalogue(context: &Context<'_>, query: &Query) -> Result<ToolOutput, ApiError> {
    let mut all = json_of(context, "/api/v1/catalogue", &Query::default())?;
    let tables = all["tables"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let Some(name) = query.get("table") else {
        let brief =
            |t: &Value| json!({ "name": t["name"], "about": t["about"], "section": t["section"], "shape": t["shape"] });
        return Ok(ToolOutput::json(&json!({ "tables": tables.iter().map(brief).collect::<Vec<_>>() })));
    };
    match tables.iter().find(|t| t["name"] == name) {
        Some(table) => Ok(ToolOutput::json(table)),
        None => {
            let near = fenxi_model::near(name, tables.iter().filter_map(|t| t["name"].as_str()));
            Err(ApiError::Unknown(format!("there is no table `{name}`; similar names: {}", near.join(", "))))
        }
    }
}

fn questions(context: &Context<'_>, query: &Query) -> Result<ToolOutput, ApiError> {
    let all = json_of(context, "/api/v1/questions", &Query::default())?;
    let section = query.get("section");
    let of = |q: &&Value| section.is_none_or(|wanted| q["section"] == wanted);
    let brief = |q: &Value| {
        json!({ "name": q["id"], "title": q["title"], "about": q["about"], "section": q["section"], "chart": q["chart"],
            "params": q["params"] })
    };
    let found: Vec<Value> = all["questions"].as_array().into_iter().flatten().filter(of).map(brief).collect();
    Ok(ToolOutput::json(&json!({ "questions": found })))
}

fn draw(context: &Context<'_>, query: &Query) -> Result<ToolOutput, ApiError> {
    let format = query.get("format").unwrap_or("png").to_owned();
    let kept = query.pairs().filter(|(name, _)| *name != "format").map(|(n, v)| (n.to_owned(), v.to_owned()));
    let (drawing, caption) = chart(&Panel::ask(context, &Query::of(kept))?)?;
    match format.as_str() {
        "png" => Ok(ToolOutput::Picture { mime: "image/png", bytes: png(&drawing), caption }),
        "svg" => Ok(ToolOutput::Picture { mime: "image/svg+xml", bytes: svg(&drawing).into_bytes(), caption }),
        other => Err(ApiError::Wrong(format!("`format` is png or svg, not `{other}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{ENDPOINTS, TOOLS, list};

    #[test]
    fn every_tool_has_an_endpoint_and_takes_only_what_that_has() {
        for tool in TOOLS {
            let endpoint = ENDPOINTS.iter().find(|e| e.path == tool.path);
            let known = endpoint.map(|e| e.params).unwrap_or_default();
            assert!(endpoint.is_some(), "{}", tool.name);
            for name in tool.params.iter().chain(tool.unless.iter().map(|(name, _)| name)) {
                assert!(known.iter().any(|p| p.name == *name), "{}: {name}", tool.name);
            }
        }
        assert!(
            list().iter().all(|t| t["inputSchema"]["type"] == "object" && t["annotations"]["readOnlyHint"] == true)
        );
    }
}
