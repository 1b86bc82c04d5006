//! OpenAPI 3.1 description of the API, made from the lists of endpoints and operations.

use std::collections::BTreeMap;

use axum::{http::StatusCode, response::Response};
use fenxi_api::{
    ENDPOINTS, Endpoint, Kind, Param,
    schema::{self, Schemas},
};
use serde_json::{Map, Value, json};

use crate::{
    ask,
    change::{LABELS, Labels, OPERATIONS, Operation, Takes},
    files,
    live::status::{self, Status},
    reply::reply,
};

/// Where it is given.
pub(crate) const PATH: &str = "/api/v1/openapi.json";

/// Statuses of every answer that is an error, and what each means.
const ERRORS: [(&str, &str); 10] = [
    ("400", "Bad request; the text has the reason"),
    ("401", "Unauthenticated: no session or token, or an invalid one"),
    (
        "403",
        "The token has not the right, another site's page asked, the header X-Fenxi is missing, or the server is read-only",
    ),
    ("404", "Not found: no such run, question, study …"),
    ("408", "Timeout: the time limit of the server was exceeded"),
    ("409", "Conflict: a different run with this id exists"),
    ("412", "Precondition failed: changed since the version that If-Match names"),
    ("413", "The body, or its decompressed content, is too large"),
    ("429", "Too many invalid tokens"),
    ("503", "Overloaded: too many requests are queued; see Retry-After"),
];

/// `GET /api/v1/openapi.json`.
pub(crate) async fn get() -> Response {
    reply(StatusCode::OK, "application/json", openapi())
}

/// The description as text, the same bytes for the same program.
pub fn openapi() -> String {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let mut schemas = Schemas::default();
    for endpoint in ENDPOINTS {
        paths.entry(endpoint.path).or_default().insert("get".to_owned(), reading(endpoint, &mut schemas));
    }
    for operation in OPERATIONS {
        let method = operation.method.as_str().to_ascii_lowercase();
        paths.entry(operation.path).or_default().insert(method, changing(operation, &mut schemas));
    }
    for (path, described) in others(&mut schemas) {
        paths.entry(path).or_default().insert("get".to_owned(), described);
    }
    let all = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Fenxi",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What pages ask a store of runs. A run is named by its id, or by any selector: a name, `@1` \
                            for the latest, `tag=value`.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{}, { "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": "fenxi-7070" },
            },
            "responses": errors(),
            "schemas": definitions(schemas),
        },
    });
    // A tree of texts and numbers can always be written.
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

/// The schemas of answers, and of the answer that is none.
fn definitions(schemas: Schemas) -> Value {
    let mut all = schemas.definitions();
    let error = json!({
        "type": "object", "required": ["error"],
        "properties": {
            "error": { "type": "string", "description": "Error message" },
            "near": { "type": "array", "items": { "type": "string" }, "description": "Names like the one of a run that there is not" },
        },
    });
    all.insert("Error".to_owned(), error);
    Value::Object(all)
}

/// Values with which a request can be tried, by the parameter's name.
const EXAMPLES: [(&str, &str); 9] = [
    ("run", "@1"),
    ("id", "@1"),
    ("a", "@2"),
    ("b", "@1"),
    ("question", "cpu-time"),
    ("metric", "cpu.idle"),
    ("page", "/run?run=@1"),
    ("sparkline", "cpu.idle"),
    ("name", "steady"),
];

/// A parameter with a value to try, as far as one is known.
fn tried(path: &str, mut parameter: Value) -> Value {
    let name = parameter["name"].as_str().unwrap_or_default();
    let known = EXAMPLES.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
    let known = match (path, name) {
        (ask::SQL, "q") => Some("SELECT t, usr FROM cpu WHERE cpu IS NULL"),
        (_, "q") => Some("@1"),
        _ => known,
    };
    if let Some(value) = known {
        let many = parameter["schema"]["type"] == "array";
        parameter["example"] = if many { json!([value]) } else { json!(value) };
    }
    parameter
}

fn reading(endpoint: &Endpoint, schemas: &mut Schemas) -> Value {
    let mut content = json!({ "application/json": { "schema": schemas.add(endpoint.schema) } });
    if endpoint.path == ask::SQL {
        content["text/csv"] = json!({ "schema": { "type": "string" } });
        content["application/vnd.apache.arrow.stream"] = json!({ "schema": { "type": "string", "format": "binary" } });
    }
    json!({
        "operationId": id("get", endpoint.path),
        "summary": summary(endpoint.about),
        "description": endpoint.about,
        "parameters": endpoint.params.iter().map(|p| tried(endpoint.path, parameter(p))).collect::<Vec<_>>(),
        "responses": responses("The answer", content),
        "x-changes": endpoint.changes,
    })
}

fn parameter(param: &Param) -> Value {
    let (name, about, required) = (param.name, param.about, param.required);
    let one = match param.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::Flag => json!({ "type": "boolean" }),
    };
    // A name that ends with a dot stands for all that begin with it.
    if let Some(prefix) = name.strip_suffix('.') {
        let schema = json!({ "type": "object", "additionalProperties": one, "propertyNames": { "pattern": format!("^{prefix}\\.") } });
        return json!({ "name": prefix, "in": "query", "description": about, "required": false, "schema": schema });
    }
    let schema = if param.many { json!({ "type": "array", "items": one }) } else { one };
    json!({ "name": name, "in": "query", "description": about, "required": required, "schema": schema })
}

fn changing(operation: &Operation, schemas: &mut Schemas) -> Value {
    let mut parameters: Vec<Value> = in_path(operation.path);
    // Who only reads is asked for it too: whatever is not GET is.
    parameters.push(json!({
        "name": "X-Fenxi", "in": "header", "required": true, "schema": { "const": "1" },
        "description": "No form of another site can send it",
    }));
    if operation.path == LABELS {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": false, "schema": { "type": "string" },
            "description": "`ETag` of the labels that are to be changed; 412 when they are others by now",
        }));
    }
    if let Takes::File(_) = operation.takes {
        parameters.push(json!({
            "name": "filename", "in": "query", "required": false, "schema": { "type": "string" },
            "description": "Name of the file",
        }));
    }
    let body = |about: &str, media: &str, schema: Value| json!({ "required": true, "description": about, "content": { media: { "schema": schema } } });
    let content = json!({ "application/json": { "schema": schemas.add(operation.schema) } });
    let mut described = json!({
        "operationId": id(operation.method.as_str(), operation.path),
        "summary": summary(operation.about),
        "description": operation.about,
        "parameters": parameters,
        "responses": responses(operation.gives, content),
    });
    let takes = match operation.takes {
        Takes::Nothing => return described,
        Takes::Json(schema) => body("What is to be", "application/json", schema()),
        Takes::Text(about) => body(about, "text/plain", json!({ "type": "string" })),
        Takes::File(about) => body(about, "application/octet-stream", json!({ "type": "string", "format": "binary" })),
    };
    described["requestBody"] = takes;
    described
}

/// Paths that are neither a list's endpoint nor an operation.
fn others(schemas: &mut Schemas) -> [(&'static str, Value); 8] {
    let query = |name: &str, about: &str, required: bool, schema: Value| json!({ "name": name, "in": "query", "description": about, "required": required, "schema": schema });
    let text = || json!({ "type": "string" });
    let get_as = |path: &str, about: &str, parameters: Vec<Value>, media: &str, schema: Value| {
        json!({
            "operationId": id("get", path), "summary": summary(about), "description": about, "parameters": parameters,
            "responses": responses("The answer", json!({ media: { "schema": schema } })),
        })
    };
    let get =
        |path: &str, about: &str, parameters: Vec<Value>, media: &str| get_as(path, about, parameters, media, text());
    let runs = query("run", "A run, or a selector of several", true, json!({ "type": "array", "items": text() }));
    let page = query("page", "The page's path and query, as `/run?run=@1`", true, text());
    let source = query("source", "Source to watch, by name; default: those of few rows", false, text());
    let recording = query("run", "Run being recorded, by id or name; default: this machine", false, text());
    let labelled = query(
        "labels",
        "Sealed runs whose labels are watched instead",
        false,
        json!({ "type": "array", "items": text() }),
    );
    let about = "Recordings in progress, the name of this machine, and the sources that can be watched.";
    let schema = schemas.add(schema::of::<Status>);
    let mut recordings = get_as(status::PATH, about, Vec::new(), "application/json", schema);
    recordings["x-changes"] = json!(true);
    let schema = schemas.add(schema::of::<Labels>);
    let about = "Labels of a run; the header `ETag` has their version, which `If-Match` of a change can name.";
    [
        (LABELS, get_as(LABELS, about, in_path(LABELS), "application/json", schema)),
        (
            files::EXPORT,
            get(
                files::EXPORT,
                "A run as an archive for `POST /api/v1/import`.",
                in_path(files::EXPORT),
                "application/zstd",
            ),
        ),
        (files::EXPORT_MANY, get(files::EXPORT_MANY, "Several runs as one archive.", vec![runs], "application/zstd")),
        (files::REPORT, get(files::REPORT, "A page as one self-contained HTML file.", vec![page], "text/html")),
        (
            "/api/v1/live",
            get(
                "/api/v1/live",
                "Server-Sent Events: `tick` with `{t_ms, values: {\"table.column[key]\": number}}` each second; of a recording also \
             `end` when it is sealed, and `failed` with `{error}` when there are no values. With `labels`: `labels` with `{run, version}` \
             for each of the runs, and again whenever somebody has changed its labels, remarks or marks; `end` when it is no more to be seen.",
                vec![recording, source, labelled],
                "text/event-stream",
            ),
        ),
        (status::PATH, recordings),
        ("/metrics", get("/metrics", "Prometheus metrics of the server.", Vec::new(), "text/plain")),
        (PATH, get_as(PATH, "This OpenAPI description.", Vec::new(), "application/json", json!({ "type": "object" }))),
    ]
}

fn in_path(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|part| part.split_once('}'));
    let about = |name: &str| if name == "id" { "The run" } else { "The name" };
    let one = |(name, _): (&str, &str)| {
        json!({
            "name": name, "in": "path", "required": true, "description": about(name),
            "schema": { "type": "string", "minLength": 1 },
        })
    };
    names.map(|name| tried(path, one(name))).collect()
}

fn responses(gives: &str, content: Value) -> Value {
    let mut all = Map::new();
    all.insert("200".to_owned(), json!({ "description": gives, "content": content }));
    for (status, _) in ERRORS {
        all.insert(status.to_owned(), json!({ "$ref": format!("#/components/responses/{status}") }));
    }
    Value::Object(all)
}

/// Description of each of [`ERRORS`], once for all.
fn errors() -> Value {
    let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } });
    let one = |(status, said): (&str, &str)| (status.to_owned(), json!({ "description": said, "content": content }));
    Value::Object(ERRORS.into_iter().map(one).collect())
}

/// A name for programs made from the description: `get_runs`, `put_runs_id_labels`.
fn id(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !["", "api", "v1"].contains(w));
    let words: Vec<&str> = words.collect();
    format!("{}_{}", method.to_ascii_lowercase(), words.join("_"))
}

/// The first sentence.
fn summary(about: &str) -> &str {
    about.split_once(". ").map_or(about.trim_end_matches('.'), |(first, _)| first)
}
