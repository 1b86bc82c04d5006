//! Every endpoint over made-up runs.

use std::collections::BTreeMap;

use fenxi_api::{ApiError, Context, ENDPOINTS, Query, answer};
use fenxi_model::{Micros, Rows, RunId, catalog::db};
use fenxi_query::{Engine, Scope, question};
use fenxi_store::{Begin, End, Labels, Store};
use serde_json::Value;

use crate::synthetic::{Made, run};

pub(crate) struct TestStore {
    _dir: tempfile::TempDir,
    pub(crate) store: Store,
    engine: Engine,
}

impl TestStore {
    /// A store with runs called so, each of 30 seconds and 4 CPUs.
    pub(crate) fn with(names: &[&str]) -> (TestStore, Vec<RunId>) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path().join("store")).unwrap();
        let made = |(i, name): (usize, &&str)| {
            run(&store, &Made { name, seconds: 30, cpus: 4, phase: 1.0 + i as f64 }).unwrap()
        };
        let ids = names.iter().enumerate().map(made).collect();
        let engine = Engine::open(&store, &fenxi_query::Options::default()).unwrap();
        (TestStore { _dir: dir, store, engine }, ids)
    }

    fn bytes(&self, request: &str) -> Result<(&'static str, Vec<u8>), ApiError> {
        let context = Context { store: &self.store, engine: &self.engine, read_only: false };
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let reply = answer(&context, &format!("/api/v1/{path}"), &Query::parse(query))?;
        Ok((reply.content_type, reply.bytes))
    }

    pub(crate) fn json(&self, request: &str) -> Value {
        let (content_type, bytes) = self.bytes(request).unwrap_or_else(|e| panic!("{request}: {e}"));
        assert_eq!(content_type, "application/json", "{request}");
        serde_json::from_slice(&bytes).unwrap()
    }

    fn error(&self, request: &str) -> String {
        self.bytes(request).unwrap_err().to_string()
    }
}

/// A run of ten seconds of a database server.
pub(crate) fn shop(store: &Store) -> RunId {
    let start = Micros(1_795_000_000_000_000);
    let mut open = store.begin(Begin { name: Some("shop".to_owned()), ..Begin::new("record", "h1", start) }).unwrap();
    let mut rows = Rows::new("h1");
    for second in 1..=10 {
        rows.row(&db::TABLE, Micros(start.0 + second * 1_000_000), 1.0)
            .str(db::server, "localhost:5432")
            .f64(db::commits_per_s, 100.0)
            .f64(db::rows_inserted_per_s, 7.0);
    }
    open.append(&mut rows).unwrap();
    open.seal(End { ticks: 10, ..End::at(Micros(start.0 + 10_000_000)) }).unwrap()
}

/// `text` as a value in an address.
pub(crate) fn encoded(text: &str) -> String {
    Query::of([("x".to_owned(), text.to_owned())]).text()[2..].to_owned()
}

#[test]
fn every_endpoint_answers_and_refuses_what_it_does_not_know() {
    let (asked, ids) = TestStore::with(&["one", "two"]);
    let (a, b, shop) = (&ids[0], &ids[1], shop(&asked.store));
    let requests = [
        "about".to_owned(),
        "runs".to_owned(),
        "select?q=one,two".to_owned(),
        format!("run?run={a}&run={b}"),
        format!("panel?question=cpu-time&run={a}"),
        format!("findings?run={a}"),
        format!("facts?run={a}&run={b}"),
        format!("notes?run={a}"),
        format!("stacks?run={a}"),
        "compare?a=one&b=two&force=true".to_owned(),
        format!("dbreport?run={shop}&section=load-profile"),
        format!("explain?run={a}&run={b}"),
        format!("representative?run={a}&run={b}"),
        "trend?metric=transactions".to_owned(),
        "trends".to_owned(),
        "metrics".to_owned(),
        "studies".to_owned(),
        "boards".to_owned(),
        format!("range?run={a}&from=0&to=1"),
        "catalogue".to_owned(),
        "questions".to_owned(),
        "sql?q=SELECT+1+AS+one".to_owned(),
    ];
    for request in &requests {
        assert!(asked.json(request).is_object(), "{request}");
        let unknown = format!("{request}{}nothing=1", if request.contains('?') { '&' } else { '?' });
        assert!(asked.error(&unknown).contains("there is no parameter `nothing`"), "{unknown}");
    }
    for endpoint in ENDPOINTS {
        let short = endpoint.path.trim_start_matches("/api/v1/");
        let is_asked = |r: &String| r.split('?').next() == Some(short);
        assert!(["board", "study"].contains(&short) || requests.iter().any(is_asked), "{short} is not tested");
        let sentence = endpoint.about.ends_with('.') && !endpoint.about.contains("  ");
        assert!(sentence, "{}: {}", endpoint.path, endpoint.about);
    }
    assert!(matches!(asked.bytes("nothing"), Err(ApiError::Unknown(_))));
    assert!(matches!(asked.bytes("run?run=nothing"), Err(ApiError::NoRun { .. })));
    assert!(matches!(asked.bytes("study?name=nothing"), Err(ApiError::Unknown(_))));
    assert!(matches!(asked.bytes("board?name=nothing"), Err(ApiError::Unknown(_))));
    assert!(matches!(asked.bytes("panel?run=one"), Err(ApiError::Wrong(_))));
    // Times that no clock has.
    for times in ["from=7e16&to=1e308", "from=-7e16&to=-6e16"] {
        let refused = asked.bytes(&format!("range?run=one&{times}"));
        assert!(matches!(refused, Err(ApiError::Wrong(_))), "{times}: {refused:?}");
    }
    assert!(asked.json("range?run=one&from=-7e16&to=1e308").is_object());
    let report = asked.error(&format!("dbreport?run={shop}&from=6e16&to=1e308"));
    assert!(report.contains("out of range"), "{report}");
}

#[test]
fn runs_are_filtered_sorted_and_given_page_by_page() {
    let (asked, ids) = TestStore::with(&["beta", "alpha", "gamma"]);
    let names = |request: &str| {
        let list = asked.json(request);
        let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
        (list["rows"].as_array().unwrap().iter().map(name).collect::<Vec<_>>(), list["total"].as_u64().unwrap())
    };
    let all = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    assert_eq!(names("runs").0, ["gamma", "alpha", "beta"], "the latest first");
    assert_eq!(names("runs?sort=name").0, ["alpha", "beta", "gamma"]);
    assert_eq!(names("runs?sort=name&desc&limit=1&offset=1"), (all(&["beta"]), 3));
    assert_eq!(names("runs?sort=result:transactions").0.len(), 3);
    assert_eq!(names("runs?where=build%3Dalpha"), (all(&["alpha"]), 1));
    assert_eq!(names("runs?where=build%3Dnothing").1, 0);
    assert_eq!(names("runs?text=GAM"), (all(&["gamma"]), 1));
    assert_eq!(names("runs?host=nene").1, 3);
    assert_eq!(names("runs?host=other").1, 0);
    let list = asked.json("runs?sparkline=cpu.idle&text=alpha");
    let row = &list["rows"][0];
    assert_eq!(row["id"], ids[1].as_str());
    assert_eq!(row["results"]["transactions"]["value"], 12_345.6);
    assert_eq!(row["spark"].as_array().unwrap().iter().filter(|v| v.is_number()).count(), 30);
    assert!(list["results"].as_array().unwrap().contains(&"latency_p95".into()));
    assert_eq!(list["tags"][0]["values"], serde_json::json!(["alpha", "beta", "gamma"]));
    assert!(asked.error("runs?sort=colour").contains("no column to sort by"));
    assert!(asked.error("runs?sparkline=cpu.nothing").contains("TABLE.COLUMN"));
    assert!(asked.error("runs?from=yesterday").contains("is a time"));
    let begin = row["start_ms"].as_f64().unwrap() / 1e3;
    assert_eq!(names(&format!("runs?from={begin}")).1, 2);
    assert_eq!(names(&format!("runs?to={begin}")).1, 1);
}

#[test]
fn a_part_of_a_run_has_the_values_that_are_in_it() {
    let (asked, ids) = TestStore::with(&["one"]);
    // Once from rows, once from coarse bins that are kept.
    for coarse_from in [None, Some(100)] {
        let options = fenxi_query::Options { coarse_from, ..Default::default() };
        let engine = Engine::open(&asked.store, &options).unwrap();
        agrees_with_rows(&asked.store, &engine, &ids[0], 30);
    }
    let made = Made { name: "long", seconds: 2000, cpus: 2, phase: 0.5 };
    let long = run(&asked.store, &made).unwrap();
    let options = fenxi_query::Options { coarse_from: Some(1000), ..Default::default() };
    agrees_with_rows(&asked.store, &Engine::open(&asked.store, &options).unwrap(), &long, 2000);
    let kept = fs_err::read_dir(asked.store.path().join("cache/windows")).unwrap();
    let kept = kept.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains(".bins-")).count();
    assert!(kept >= 2, "{kept} levels are kept");
    asked.store.remove(&long).unwrap();
    let left = fs_err::read_dir(asked.store.path().join("cache/windows")).unwrap();
    let left = left.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains(long.as_str())).count();
    assert_eq!(left, 0, "they go with their run");
}

/// Compares random parts of the CPU heat map with the rows they are made of.
fn agrees_with_rows(store: &Store, engine: &Engine, id: &RunId, seconds: u64) {
    let scope = Scope::of([id.clone()]);
    let raw = engine
        .query(
            "SELECT cpu, (epoch_us(t) - epoch_us(r.start)) / 1e6 AS rel, 100 - idle - coalesce(iowait, 0) AS busy
             FROM cpu JOIN runs r USING (run) WHERE cpu IS NOT NULL ORDER BY cpu, t",
            &scope,
        )
        .unwrap();
    let (cpus, rel, busy) = (raw.strings("cpu"), raw.f64s("rel"), raw.f64s("busy"));
    let heatmap = question(store, "cpu-heatmap").unwrap();
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for _ in 0..40 {
        let from = next(seconds - 2) as f64 + next(10) as f64 / 10.0;
        let to = (from + 1.0 + next(seconds) as f64).min(seconds as f64 + 1.0);
        let bins = 1 + next(40) as usize;
        let part = scope.clone().between(Some(from), Some(to));
        let found = engine.answer_binned(&heatmap, &[], &part, bins).unwrap();
        // The same by hand: a sample belongs to the bin in which the middle of its second lies, and bins are whole.
        let (first, end) = ((from / found.step_s).floor() as i64, (to / found.step_s).ceil() as i64);
        let mut bins_of: BTreeMap<(&str, i64), Vec<f64>> = BTreeMap::new();
        for ((cpu, rel), busy) in cpus.iter().zip(&rel).zip(&busy) {
            let middle = rel.unwrap() - 0.5;
            let bin = (middle / found.step_s).floor() as i64;
            if bin >= first && bin < end {
                bins_of.entry((cpu.as_deref().unwrap(), bin)).or_default().push(busy.unwrap());
            }
        }
        assert!(found.t_rel_s.len() <= bins + 1, "{from}..{to}: {} of {bins} bins", found.t_rel_s.len());
        let mut seen = 0;
        for series in &found.series {
            for (place, end) in found.t_rel_s.iter().enumerate() {
                let bin = (end / found.step_s).round() as i64 - 1;
                let Some(values) = bins_of.get(&(series.name.as_str(), bin)) else {
                    assert_eq!(series.avg[place], None);
                    continue;
                };
                seen += 1;
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                assert_eq!((series.min[place], series.max[place]), (Some(least), Some(greatest)));
                assert!((series.avg[place].unwrap() - mean).abs() < 1e-9);
            }
        }
        assert_eq!(seen, bins_of.len(), "{from}..{to} in {bins}");
    }
}

#[test]
fn tables_of_a_part_are_about_that_part() {
    let (asked, ids) = TestStore::with(&["one"]);
    let rows = |part: &str| {
        let sql = encoded(
            "SELECT run, count(*) AS n, any_value(duration_s) AS s FROM cpu JOIN runs USING (run) GROUP BY run",
        );
        let panel = asked.json(&format!("panel?sql={sql}&run={}{part}", ids[0]));
        (panel["table"]["rows"][0][0].as_f64().unwrap(), panel["table"]["rows"][0][1].as_f64().unwrap())
    };
    assert_eq!(rows(""), (150.0, 30.0));
    assert_eq!(rows("&from=10&to=20"), (50.0, 10.0));
    assert_eq!(rows("&from=25"), (25.0, 5.0));
    let results = format!("panel?question=result-summary&run={}&from=1&to=2", ids[0]);
    assert!(!asked.json(&results)["table"].is_null(), "what a run came to is there whatever part is looked at");
}

#[test]
fn a_statement_becomes_a_chart_from_what_its_answer_has() {
    let (asked, ids) = TestStore::with(&["one", "two"]);
    let sql = encoded("SELECT t, cpu, usr FROM cpu WHERE cpu IS NOT NULL; -- all of them");
    let panel = asked.json(&format!("panel?sql={sql}&chart=line&run={}", ids[0]));
    assert_eq!((&panel["series"], &panel["values"], &panel["unit"]), (&"cpu".into(), &"usr".into(), &"%".into()));
    assert_eq!(panel["time"]["series"].as_array().unwrap().len(), 4);
    let both = format!("panel?sql={sql}&chart=line&run={}&run={}", ids[0], ids[1]);
    assert!(asked.error(&both).contains("needs the column `run`"));
    let sql = encoded("SELECT usr FROM cpu");
    assert!(asked.error(&format!("panel?sql={sql}&chart=line&run={}", ids[0])).contains("needs the column `t`"));
    let sql = encoded("SELECT $n AS n, $name AS name");
    let panel = asked.json(&format!("panel?sql={sql}&p.n=5&p.name=a%27b&run={}", ids[0]));
    assert_eq!(panel["table"]["rows"], serde_json::json!([[5, "a'b"]]));
    let sql = encoded("SELECT usrr FROM cpu");
    let wrong = asked.json(&format!("panel?sql={sql}&run={}", ids[0]));
    assert!(wrong["error"].as_str().unwrap().contains("there is no column `usrr`"), "{wrong}");
    assert!(asked.error(&format!("panel?sql={sql}&chart=pie")).contains("`pie` is not a chart"));
}

#[test]
fn statements_are_answered_in_three_formats_and_cut_at_the_limit() {
    let (asked, ids) = TestStore::with(&["one"]);
    let sql = encoded("SELECT t, usr, cpu, [1.5, NULL] AS list, 1 = 1 AS yes FROM cpu ORDER BY cpu NULLS LAST, t");
    let table = asked.json(&format!("sql?q={sql}&run={}&limit=3", ids[0]));
    assert_eq!(
        (&table["cut"], &table["total"], table["rows"].as_array().unwrap().len()),
        (&true.into(), &Value::Null, 3)
    );
    assert_eq!(table["columns"][1], serde_json::json!({ "name": "usr", "type": "Float64", "unit": "%" }));
    let row = &table["rows"][0];
    assert!(row[0].as_str().unwrap().ends_with('Z') && row[1].is_number() && row[2] == "0" && row[4] == true, "{row}");
    assert_eq!(row[3], serde_json::json!([1.5, null]));
    let whole = asked.json(&format!("sql?q={sql}&run={}", ids[0]));
    assert_eq!((&whole["cut"], &whole["total"]), (&false.into(), &150.into()));
    let (kind, csv) = asked.bytes(&format!("sql?q=SELECT+usr+FROM+cpu&run={}&limit=2&format=csv", ids[0])).unwrap();
    assert!(kind.starts_with("text/csv"));
    assert_eq!(String::from_utf8(csv).unwrap().lines().count(), 3);
    let (kind, bytes) = asked.bytes(&format!("sql?q={sql}&run={}&limit=7&format=arrow", ids[0])).unwrap();
    assert_eq!(kind, "application/vnd.apache.arrow.stream");
    let stream = arrow_ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
    assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 7);
    assert!(asked.error("sql?q=DROP+TABLE+cpu").contains("only read"));
    assert!(asked.error("sql?q=SELECT+1&format=xml").contains("json, arrow or csv"));
}

#[test]
fn hostile_names_are_text_everywhere() {
    let (asked, ids) = TestStore::with(&["one", "two"]);
    let evil = "</script>'\"; DROP TABLE runs; --<b>";
    let labels =
        Labels { name: Some(evil.to_owned()), tags: [(evil.to_owned(), evil.to_owned())].into(), ..Labels::default() };
    asked.store.set_labels(&ids[0], &labels).unwrap();
    let name = encoded(evil);
    assert_eq!(asked.json(&format!("select?q={name}"))["runs"], serde_json::json!([ids[0].as_str()]));
    assert_eq!(asked.json(&format!("run?run={name}"))["runs"][0]["name"], evil);
    assert_eq!(asked.json(&format!("runs?text={name}"))["total"], 1);
    assert_eq!(asked.json(&format!("runs?sort=tag:{name}"))["total"], 2);
    assert_eq!(asked.json(&format!("runs?sort=result:{name}"))["total"], 2);
    assert!(asked.error(&format!("panel?question={name}&run={}", ids[0])).contains("there is no question"));
    assert!(asked.error(&format!("trend?metric={name}")).contains("metric"));
    assert_eq!(asked.json(&format!("stacks?run={}&comm={name}", ids[0]))["runs"][0]["total"], 0.0);
    assert_eq!(asked.json(&format!("facts?run={}&topic={name}", ids[0]))["topics"], serde_json::json!([]));
}
