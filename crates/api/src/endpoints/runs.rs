//! `/api/v1/runs`: list of runs, filtered, sorted, paginated.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_compare::BetterWord;
use fenxi_model::{Micros, RunId};
use fenxi_store::{RunResult, Store, StoreError, Summary};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ApiError, Context, Endpoint, Kind, Param, Query, Reply, schema,
    sort::{self, Key},
    sparkline::{self, Sparkline},
};

/// Rows unless others are asked for, and at most.
const ROWS: usize = 100;
const MOST_ROWS: usize = 10_000;
/// Values of a tag or a parameter that are offered to choose from.
const OFFERED: usize = 100;
/// Results of a run that are listed: a list of all runs is no place for the hundreds of thousands that one may have.
const RESULTS: usize = 200;

pub(super) const RUNS: Endpoint = Endpoint {
    path: "/api/v1/runs",
    about: "Runs that meet all conditions, latest first, with their results; and the filter values of the store: \
            results, tags, parameters, hosts.",
    params: &[
        Param::optional("where", "Only runs that match this selector: `tag=value`, a name …", Kind::Text).many(),
        Param::optional(
            "text",
            "Only runs whose id, name, command, host, labels or remarks contain this text",
            Kind::Text,
        ),
        Param::optional("host", "Only runs of this host", Kind::Text),
        Param::optional(
            "from",
            "Only runs started at or after this time (ISO 8601, or seconds since 1970)",
            Kind::Text,
        ),
        Param::optional("to", "Only runs started before this time", Kind::Text),
        Param::optional("sort", sort::ABOUT, Kind::Text),
        Param::optional("desc", "Sort in descending order", Kind::Flag),
        Param::optional("limit", "Maximum number of rows; default 100", Kind::Count),
        Param::optional("offset", "Number of rows to skip", Kind::Count),
        Param::optional("sparkline", "Sparkline of this column over each run, such as `cpu.usr`", Kind::Text),
    ],
    changes: true,
    answer,
    schema: schema::of::<List>,
};

/// A page of the list of runs, and what can be chosen from.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RunList")]
struct List {
    /// Runs that meet the conditions.
    total: usize,
    rows: Vec<Row>,
    /// Names of the results of these rows.
    results: BTreeSet<String>,
    tags: Vec<Choice>,
    params: Vec<Choice>,
    hosts: BTreeSet<String>,
    /// What is missing here: labels that cannot be read, for those that the run was made with, and results of runs with very many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A key and what values it has in the store.
#[derive(JsonSchema, Serialize)]
struct Choice {
    key: String,
    values: Vec<String>,
}

/// A run of the list.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ListedRun")]
struct Row {
    #[schemars(with = "String")]
    id: RunId,
    name: String,
    kind: String,
    hosts: Vec<String>,
    /// Milliseconds since the epoch, UTC.
    start_ms: f64,
    duration_s: f64,
    command: String,
    exit_status: Option<i32>,
    signal: Option<i32>,
    recovered: bool,
    baseline: bool,
    params: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    remarks: Vec<String>,
    /// Names of its tables.
    tables: Vec<String>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<String>,
    results: BTreeMap<String, Outcome>,
    /// How many it has in all.
    #[serde(skip)]
    n_results: u64,
    /// The sparkline that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    spark: Option<Vec<Option<f64>>>,
}

/// A result of a run.
#[derive(JsonSchema, Serialize)]
struct Outcome {
    /// Null where it is no finite number.
    #[schemars(with = "Option<f64>")]
    value: f64,
    unit: String,
    #[schemars(with = "BetterWord")]
    better: String,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let store = context.store;
    let (all, wrong) = store.listing()?;
    let (hosts, tags, params) = offered(&all);
    let mut found = filtered(store, all, query)?;
    if let Some(key) = query.get("sort") {
        sort::sort(context.engine, &mut found, &key.parse::<Key>()?, query.flag("desc"))?;
    }
    let total = found.len();
    let page = found.into_iter().skip(query.count("offset")?.unwrap_or(0));
    let page: Vec<Summary> = page.take(query.count("limit")?.unwrap_or(ROWS).min(MOST_ROWS)).collect();
    let mut sparks = match query.get("sparkline") {
        Some(column) => sparkline::of(context.engine, &page, &column.parse::<Sparkline>()?)?,
        None => BTreeMap::new(),
    };
    let mut rows = Vec::with_capacity(page.len());
    for summary in page {
        let spark = sparks.remove(summary.id.as_str());
        rows.extend(row(store, summary, spark)?);
    }
    let results = rows.iter().flat_map(|r| r.results.keys().cloned()).collect();
    let mut warnings: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    let many = rows.iter().filter(|row| row.n_results > RESULTS as u64);
    warnings.extend(
        many.map(|row| {
            format!("run {} has {} results, of which the first {RESULTS} are listed", row.id, row.n_results)
        }),
    );
    Reply::json(&List { total, rows, results, tags, params, hosts, warnings })
}

/// Hosts, tags and parameters of all runs.
fn offered(all: &[Summary]) -> (BTreeSet<String>, Vec<Choice>, Vec<Choice>) {
    let hosts = all.iter().flat_map(|s| s.hosts.iter().cloned()).collect();
    let choices = |maps: Vec<&BTreeMap<String, String>>| {
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (key, value) in maps.into_iter().flatten() {
            let known = values.entry(key).or_default();
            if known.len() < OFFERED {
                known.insert(value);
            }
        }
        let choice = |(key, values): (&str, BTreeSet<&str>)| Choice {
            key: key.to_owned(),
            values: values.into_iter().map(str::to_owned).collect(),
        };
        values.into_iter().map(choice).collect::<Vec<Choice>>()
    };
    let tags = choices(all.iter().map(|s| &s.labels.tags).collect());
    let params = choices(all.iter().map(|s| &s.params).collect());
    (hosts, tags, params)
}

/// The runs that meet all conditions, the latest first.
fn filtered(store: &Store, mut all: Vec<Summary>, query: &Query) -> Result<Vec<Summary>, ApiError> {
    for selector in query.all("where") {
        let named = match store.select(selector) {
            Ok(ids) => ids,
            // A condition that no run meets is no mistake.
            Err(StoreError::Unknown { .. }) => Vec::new(),
            Err(StoreError::Ambiguous { candidates, .. }) => candidates,
            Err(e) => return Err(e.into()),
        };
        let named: BTreeSet<&RunId> = named.iter().collect();
        all.retain(|s| named.contains(&s.id));
    }
    if let Some(text) = query.get("text") {
        let text = text.to_lowercase();
        all.retain(|s| words(s).any(|word| word.to_lowercase().contains(&text)));
    }
    if let Some(host) = query.get("host") {
        all.retain(|s| s.hosts.iter().any(|h| h == host));
    }
    if let Some(from) = moment(query, "from")? {
        all.retain(|s| s.start >= from);
    }
    if let Some(to) = moment(query, "to")? {
        all.retain(|s| s.start < to);
    }
    Ok(all)
}

/// Everything of a run that a person may look for.
fn words(run: &Summary) -> impl Iterator<Item = &str> {
    let labels = &run.labels;
    let pairs = labels.tags.iter().chain(&run.params).flat_map(|(k, v)| [k.as_str(), v.as_str()]);
    [run.id.as_str(), run.kind.as_str()]
        .into_iter()
        .chain(labels.name.as_deref())
        .chain(run.hosts.iter().chain(&run.command).chain(&labels.remarks).map(String::as_str))
        .chain(pairs)
}

fn moment(query: &Query, name: &str) -> Result<Option<Micros>, ApiError> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite()).map(|s| Micros((s * 1e6) as i64));
    match seconds.or_else(|| Micros::parse(text)).or_else(|| Micros::parse(&format!("{text}T00:00:00"))) {
        Some(moment) => Ok(Some(moment)),
        None => Err(ApiError::Wrong(format!("`{name}` is a time, as 2026-11-21T14:00:00Z, not `{text}`"))),
    }
}

/// None when the run was removed since it was listed.
fn row(store: &Store, s: Summary, spark: Option<Vec<Option<f64>>>) -> Result<Option<Row>, ApiError> {
    let manifest = match store.kept_manifest(&s.id) {
        Ok(manifest) => manifest,
        Err(StoreError::Unknown { .. }) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let outcome = |r: RunResult| (r.name, Outcome { value: r.value, unit: r.unit, better: r.better.to_string() });
    let n_results = manifest.file("result").map_or(0, |file| file.rows);
    let results = match n_results {
        0 => BTreeMap::new(),
        _ => store.first_results(&s.id, RESULTS)?.into_iter().map(outcome).collect(),
    };
    Ok(Some(Row {
        name: s.labels.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| s.id.to_string()),
        start_ms: (s.start.0 / 1000) as f64,
        duration_s: s.end.seconds_since(s.start),
        command: s.command.join(" "),
        study: s.params.get("study").cloned(),
        tables: s.tables.into_iter().map(|(name, _, _)| name).filter(|name| name != "stats").collect(),
        id: s.id,
        kind: s.kind,
        hosts: s.hosts,
        exit_status: s.exit_status,
        signal: manifest.signal,
        recovered: s.recovered,
        baseline: s.labels.baseline,
        params: s.params,
        tags: s.labels.tags,
        remarks: s.labels.remarks,
        bytes: s.bytes,
        results,
        n_results,
        spark,
    }))
}
