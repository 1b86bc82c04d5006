//! Answers are what their schemas say, to the last property.

use fenxi_api::{ENDPOINTS, schema::Schemas};
use fenxi_model::{Micros, Rows, RunId, catalog::result};
use fenxi_store::{Begin, End, Labels, Store};
use fenxi_study::{Beginning, Design, FAILED, Record, parse};
use serde_json::{Map, Value};

use crate::api::{TestStore, encoded, shop};

const DEFINITIONS: &str = "#/components/schemas/";

/// Keywords that say nothing about a value, or a bound that no answer is near to.
const SILENT: [&str; 3] = ["description", "minimum", "maximum"];

/// First violation of `schema` by `value`, and where.
fn refused(schema: &Value, value: &Value, definitions: &Map<String, Value>, place: &str) -> Option<String> {
    let inner = |schema: &Value, value: &Value, place: &str| refused(schema, value, definitions, place);
    let Some(schema) = schema.as_object() else { return (schema != true).then(|| format!("{place}: never")) };
    let wrong = |keyword: &str| Some(format!("{place}: {keyword} is {}, not {value}", schema[keyword]));
    let is_any = |all: &Value| all.as_array().unwrap().iter().any(|one| inner(one, value, place).is_none());
    schema.iter().find_map(|(keyword, says)| match keyword.as_str() {
        "$ref" => inner(&definitions[says.as_str()?.strip_prefix(DEFINITIONS).unwrap()], value, place),
        "anyOf" | "oneOf" => (!is_any(says)).then(|| wrong(keyword))?,
        "enum" => (!says.as_array()?.contains(value)).then(|| wrong(keyword))?,
        "const" => (says != value).then(|| wrong(keyword))?,
        "type" => (!is_of_type(says, value)).then(|| wrong(keyword))?,
        "required" => says.as_array()?.iter().find_map(|name| {
            let is_there = value.get(name.as_str()?).is_some();
            (!is_there).then(|| format!("{place}: {name} is missing"))
        }),
        "properties" => value.as_object()?.iter().find_map(|(name, value)| match says.get(name) {
            Some(schema) => inner(schema, value, &format!("{place}.{name}")),
            None => Some(format!("{place}: `{name}` is not in the schema")),
        }),
        "additionalProperties" => {
            value.as_object()?.iter().find_map(|(name, value)| inner(says, value, &format!("{place}.{name}")))
        }
        "items" => value.as_array()?.iter().find_map(|value| inner(says, value, &format!("{place}[]"))),
        "prefixItems" => {
            let pairs = says.as_array()?.iter().zip(value.as_array()?);
            pairs.enumerate().find_map(|(i, (schema, value))| inner(schema, value, &format!("{place}[{i}]")))
        }
        "minItems" => (value.as_array()?.len() < says.as_u64()? as usize).then(|| wrong(keyword))?,
        "maxItems" => (value.as_array()?.len() > says.as_u64()? as usize).then(|| wrong(keyword))?,
        "uniqueItems" => {
            let all = value.as_array()?;
            all.iter().enumerate().any(|(i, one)| all[..i].contains(one)).then(|| wrong(keyword))?
        }
        other => (!SILENT.contains(&other)).then(|| format!("{place}: unknown keyword `{other}`")),
    })
}

fn is_of_type(says: &Value, value: &Value) -> bool {
    let is = |one: &Value| match one.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    };
    says.as_array().map_or_else(|| is(says), |all| all.iter().any(is))
}

const PLAN: &str = r#"
name = "scaling"
repeats = 4
command = "true"

[factors]
threads = [1, 2, 4, 8]
tool = ["one", "other"]

[[response]]
name = "throughput"
work = 1000
unit = "/s"
better = "higher"

[[response]]
name = "latency"
pattern = 'latency: ([0-9]+)'
unit = "ms"
better = "lower"
"#;

const BOARD: &str = "---\ntitle: Disks\n---\nWhat they did.\n\n```question\ncpu-time\n```\n";

/// A study with a run of every cell in every block, and one that failed.
fn study(store: &Store) {
    let plan = parse("scaling.toml".as_ref(), PLAN).unwrap();
    let begin = Micros(1_795_000_000_000_000);
    let record = Record::plan(store, &plan, PLAN, Beginning { extends: false, random: 7, now: begin }).unwrap();
    record.save(store).unwrap();
    let design = Design::new(&plan, record.seed).unwrap();
    let mut last = None;
    for block in 1..=4_u32 {
        for (place, cell) in design.cells.iter().enumerate() {
            let number = block * 100 + place as u32;
            let threads = [1.0, 2.0, 4.0, 8.0][cell.levels[0]];
            let rough = f64::from(block * 7 % 5) * 3.0 + place as f64;
            let throughput = 1000.0 * threads / (1.0 + 0.05 * (threads - 1.0)) * (1.0 + cell.levels[1] as f64) + rough;
            let params = [("study", "scaling"), ("study_id", &record.id), ("cell", &cell.label)];
            let mut params: std::collections::BTreeMap<_, _> =
                params.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
            params.insert("block".to_owned(), block.to_string());
            last = Some(of_study(store, Micros(begin.0 + i64::from(number) * 60_000_000), params, throughput));
        }
    }
    let failed = Labels { tags: [(FAILED.to_owned(), "it ended with 1".to_owned())].into(), ..Labels::default() };
    store.set_labels(&last.unwrap(), &failed).unwrap();
}

fn of_study(store: &Store, start: Micros, params: std::collections::BTreeMap<String, String>, value: f64) -> RunId {
    let begin = Begin {
        command: vec!["true".to_owned()],
        params,
        random: start.0 as u64,
        ..Begin::new("study", "nene", start)
    };
    let mut open = store.begin(begin).unwrap();
    let end = Micros(start.0 + 10_000_000);
    let mut rows = Rows::new("nene");
    for (name, value, unit, better) in [
        ("throughput", value, "/s", "higher"),
        ("latency", 1e4 / value, "ms", "lower"),
        ("elapsed", 10.0, "s", "lower"),
    ] {
        rows.row(&result::TABLE, end, None)
            .str(result::name, name)
            .f64(result::value, value)
            .str(result::unit, unit)
            .str(result::better, better)
            .str(result::source, "command");
    }
    open.append(&mut rows).unwrap();
    open.seal(End { exit_status: Some(0), ..End::at(end) }).unwrap()
}

#[test]
fn every_answer_is_what_its_schema_says() {
    let (asked, ids) = TestStore::with(&["one", "two"]);
    study(&asked.store);
    let database = shop(&asked.store);
    fs_err::create_dir_all(asked.store.path().join("boards")).unwrap();
    fs_err::write(asked.store.path().join("boards/disks.md"), BOARD).unwrap();
    let (a, b) = (&ids[0], &ids[1]);
    let mut schemas = Schemas::default();
    let of_endpoints: Vec<(&str, Value)> = ENDPOINTS.iter().map(|e| (e.path, schemas.add(e.schema))).collect();
    let definitions = schemas.definitions();
    let mut requests: Vec<String> = [
        "about",
        "runs",
        "runs?sparkline=cpu.idle&where=study%3Dscaling",
        "select?q=one,two",
        "compare?a=one&b=two&force=true&all=true",
        "trend?metric=throughput",
        "trends",
        "metrics",
        "studies",
        "boards",
        "board?name=disks",
        "study?name=scaling",
        "catalogue",
        "questions",
    ]
    .map(str::to_owned)
    .to_vec();
    for endpoint in ["run", "findings", "facts", "notes", "stacks", "explain", "representative"] {
        requests.push(format!("{endpoint}?run={a}&run={b}"));
    }
    for question in fenxi_query::questions(&asked.store).unwrap() {
        requests.push(format!("panel?question={}&run={a}&run={b}", question.name));
    }
    let list = "SELECT [1.5, NULL] AS list, true AS truth, t, cpu, 'a' AS text, [['a']] AS lists FROM cpu LIMIT 3";
    requests.push(format!("sql?q={}", encoded(list)));
    requests.push("sql?q=SELECT+1+FROM+cpu&limit=1".to_owned());
    requests.push(format!("range?run={a}&from=0&to=1"));
    requests.extend(["", "&from=2&to=5", "&against=shop"].map(|more| format!("dbreport?run={database}{more}")));
    requests.push(format!("panel?sql={}&chart=table", encoded(list)));
    for request in &requests {
        let path = format!("/api/v1/{}", request.split('?').next().unwrap());
        let (_, schema) = of_endpoints.iter().find(|(of, _)| *of == path).unwrap();
        assert_eq!(refused(schema, &asked.json(request), &definitions, request), None);
    }
    for endpoint in ENDPOINTS {
        let short = endpoint.path.trim_start_matches("/api/v1/");
        assert!(requests.iter().any(|r| r.split('?').next() == Some(short)), "{short} is not asked");
    }
    // The study has more than empty lists.
    let response = &asked.json("study?name=scaling")["responses"][0];
    for part in ["cells", "effects", "curves"] {
        assert!(!response[part].as_array().unwrap().is_empty(), "{part}");
    }
    assert!(response["curves"][0]["usl"].is_object());
}

#[test]
fn a_property_that_no_schema_has_is_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"],
        "properties": { "a": { "type": "integer" }, "b": { "type": ["string", "null"] } },
    });
    let found = |value: Value| refused(&schema, &value, &Map::new(), "x");
    assert_eq!(found(serde_json::json!({ "a": 1, "b": null })), None);
    assert_eq!(found(serde_json::json!({ "b": "text" })).unwrap(), "x: \"a\" is missing");
    assert_eq!(found(serde_json::json!({ "a": 1, "c": 1 })).unwrap(), "x: `c` is not in the schema");
    assert!(found(serde_json::json!({ "a": "1" })).unwrap().starts_with("x.a: type"));
}
