//! Resources: pages of the store, under the addresses that they have in a browser, as the JSON that they show.
//!
//! `fenxi:///run?run=@1` is what `/run?run=@1` shows on a server, without its charts: the tools `ask` and `chart` have those.

use fenxi_api::{ApiError, Context, ENDPOINTS, Query};
use serde_json::{Map, Value, json};

use crate::{panel::Panel, tools::json_of};

/// The prefix of the address of a page.
const SCHEME: &str = "fenxi://";
/// Runs that are listed.
const LISTED: &str = "50";

/// A page: its path, its parameters as a template has them, what it is, what it asks.
struct Page {
    path: &'static str,
    template: &'static str,
    title: &'static str,
    about: &'static str,
    asks: &'static [&'static str],
}

const PAGES: &[Page] = &[
    Page {
        path: "/",
        template: "{?where,text,host,sort,limit,offset}",
        title: "Runs",
        about: "The list of runs, latest first",
        asks: &["/api/v1/runs"],
    },
    Page {
        path: "/run",
        template: "{?run*}",
        title: "Run",
        about: "A run, or several: metadata and findings",
        asks: &["/api/v1/run", "/api/v1/findings"],
    },
    Page {
        path: "/compare",
        template: "{?a,b,window,per,margin}",
        title: "Comparison",
        about: "Two groups of runs compared",
        asks: &["/api/v1/compare"],
    },
    Page {
        path: "/trend",
        template: "{?metric,where,last,window}",
        title: "Trend",
        about: "One metric over runs",
        asks: &["/api/v1/trend"],
    },
    Page {
        path: "/study",
        template: "{?name}",
        title: "Study",
        about: "Results of a planned experiment; without a name the list of studies",
        asks: &["/api/v1/study"],
    },
    Page {
        path: "/ask",
        template: "{?question,run*,from,to}",
        title: "Answer",
        about: "The answer to a question",
        asks: &["/api/v1/panel"],
    },
];

/// The answer to `resources/templates/list`.
pub(crate) fn templates() -> Vec<Value> {
    let one = |page: &Page| {
        json!({ "uriTemplate": format!("{SCHEME}{}{}", page.path, page.template), "name": page.title, "description": page.about,
            "mimeType": "application/json" })
    };
    PAGES.iter().map(one).collect()
}

/// The answer to `resources/list`: the list of runs, and the latest of them.
pub(crate) fn list(context: &Context<'_>) -> Result<Value, ApiError> {
    let runs = json_of(context, "/api/v1/runs", &Query::default().with("limit", LISTED))?;
    let resource = |uri: String, name: &Value, about: &str| json!({ "uri": uri, "name": name, "description": about, "mimeType": "application/json" });
    let mut all = vec![resource(format!("{SCHEME}/"), &json!("runs"), "The list of runs, latest first")];
    for run in runs["rows"].as_array().into_iter().flatten() {
        let query = Query::default().with("run", run["id"].as_str().unwrap_or_default());
        let about = format!(
            "Run of {}: {}",
            run["hosts"][0].as_str().unwrap_or("?"),
            run["command"].as_str().unwrap_or_default()
        );
        all.push(resource(format!("{SCHEME}/run?{}", query.text()), &run["name"], about.trim_end_matches([' ', ':'])));
    }
    Ok(json!({ "resources": all }))
}

/// The answer to `resources/read`.
pub(crate) fn read(context: &Context<'_>, uri: &str, most: usize) -> Result<Value, ApiError> {
    let address = uri.strip_prefix(SCHEME).unwrap_or(uri).split('#').next().unwrap_or_default();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let page = PAGES.iter().find(|page| page.path == path).ok_or_else(|| {
        let known: Vec<String> = PAGES.iter().map(|page| format!("{SCHEME}{}", page.path)).collect();
        ApiError::Unknown(format!("there is no resource `{uri}`: {}", known.join(", ")))
    })?;
    let query = Query::parse(query);
    let mut told = Map::new();
    for asked in page.asks {
        let (name, value) = part(context, asked, &query)?;
        told.insert(name.to_owned(), value);
    }
    let text = Value::Object(told).to_string();
    if text.len() > most {
        return Err(ApiError::Wrong(format!(
            "the page has {} bytes, and at most {most} are given: use a tool",
            text.len()
        )));
    }
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }))
}

fn part<'a>(context: &Context<'_>, path: &'a str, query: &Query) -> Result<(&'a str, Value), ApiError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Other parameters of a page, on how it is shown, are unknown to the API.
    let known = ENDPOINTS.iter().find(|e| e.path == path).map(|e| e.params).unwrap_or_default();
    let has = |name: &str| known.iter().any(|p| p.name == name || (p.name.ends_with('.') && name.starts_with(p.name)));
    let pairs = query.pairs().filter(|(name, _)| has(name)).map(|(n, v)| (n.to_owned(), v.to_owned()));
    let query = &Query::of(pairs);
    let value = match name {
        "study" if query.get("name").is_none() => return Ok(("studies", json_of(context, "/api/v1/studies", query)?)),
        "panel" => {
            let query = if query.get("run").is_none() { query.clone().with("run", "@1") } else { query.clone() };
            Panel::ask(context, &query.with("bins", "60").with("rows", "100").with("lines", "20"))?.told()
        }
        "run" => {
            let mut value = json_of(context, path, query)?;
            value.as_object_mut().map(|all| all.remove("sections"));
            value
        }
        "runs" if query.get("limit").is_none() => json_of(context, path, &query.clone().with("limit", LISTED))?,
        _ => json_of(context, path, query)?,
    };
    Ok((name, value))
}
