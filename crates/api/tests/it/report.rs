//! Reports of made-up runs: what is embedded is whole, safe and shows what went wrong.

use fenxi_api::{ApiError, Context, page_file, page_of_runs};
use fenxi_model::{Micros, RunId, catalog::metric};
use fenxi_query::Engine;
use fenxi_store::{Begin, End, Labels, Store};
use serde_json::Value;

use crate::synthetic;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path().join("store")).unwrap();
    (dir, store)
}

fn report(store: &Store, runs: &[RunId]) -> Result<String, ApiError> {
    page(store, &page_of_runs(runs))
}

fn page(store: &Store, address: &str) -> Result<String, ApiError> {
    let engine = Engine::open(store, &fenxi_query::Options::default()).unwrap();
    let context = Context { store, engine: &engine, read_only: true };
    page_file(&context, address).map(|html| String::from_utf8(html).unwrap())
}

/// The payload embedded in a page.
fn payload(html: &str) -> Value {
    let begin = html.find("id=\"fenxi-data\">").unwrap() + "id=\"fenxi-data\">".len();
    let end = begin + html[begin..].find("</script>").unwrap();
    serde_json::from_str(&html[begin..end]).unwrap()
}

/// The answers of requests that begin so.
fn answers<'a>(payload: &'a Value, path: &str) -> Vec<&'a Value> {
    let all = payload["answers"].as_object().unwrap().iter();
    all.filter(|(request, _)| request.starts_with(&format!("/api/v1/{path}?"))).map(|(_, answer)| answer).collect()
}

fn panels(payload: &Value) -> Vec<&Value> {
    answers(payload, "panel")
}

fn panel<'a>(payload: &'a Value, id: &str) -> &'a Value {
    panels(payload).into_iter().find(|p| p["id"] == id).unwrap_or_else(|| panic!("no panel {id}"))
}

fn made(store: &Store, name: &str, phase: f64) -> RunId {
    synthetic::run(store, &synthetic::Made { name, seconds: 20, cpus: 4, phase }).unwrap()
}

#[test]
fn every_question_is_answered_without_an_error() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let payload = payload(&report(&store, std::slice::from_ref(&id)).unwrap());
    for p in panels(&payload) {
        assert!(p["error"].is_null(), "{}: {}", p["id"], p["error"]);
    }
    let tables = answers(&payload, "run")[0]["runs"][0]["tables"].as_array().unwrap();
    let holds = |table: &str| tables.iter().any(|held| held["table"] == table);
    let all = fenxi_query::questions(&store).unwrap();
    let (asked, others): (Vec<_>, Vec<_>) = all.iter().partition(|question| question.may_answer(&holds));
    assert_eq!(panels(&payload).len(), asked.len());
    assert!(asked.len() > 50 && others.len() > 20, "{} asked, {} not", asked.len(), others.len());
    // Questions that are not asked would have had nothing to show.
    let engine = Engine::open(&store, &fenxi_query::Options::default()).unwrap();
    let scope = fenxi_query::Scope::of([id]);
    for question in others {
        let params: &[(String, String)] = &[];
        let answer = engine.answer(question, params, &scope).unwrap();
        assert!(answer.n_rows() <= 1, "{}: {} rows", question.name, answer.n_rows());
    }
    assert!(panel(&payload, "cpu-heatmap")["time"]["series"].as_array().unwrap().len() == 4);
    assert_eq!(panel(&payload, "cpu-time")["columns"]["usr"]["unit"], "%");
}

#[test]
fn names_that_look_like_markup_stay_text() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let evil = "</script><img src=x onerror=alert(1)>";
    let labels = Labels { name: Some(evil.to_owned()), remarks: vec!["<!--<script>".to_owned()], ..Labels::default() };
    store.set_labels(&id, &labels).unwrap();
    let html = report(&store, &[id]).unwrap();
    assert!(!html.contains("<img src=x") && !html.contains("<!--<script>"));
    let payload = payload(&html);
    assert_eq!(answers(&payload, "run")[0]["runs"][0]["name"], evil);
    assert_eq!(payload["title"], evil);
}

#[test]
fn a_run_without_rows_gives_a_page_with_everything_folded_away() {
    let (_dir, store) = store();
    let begin = Begin { random: 1, ..Begin::new("record", "nene", Micros(1_795_271_753_000_000)) };
    let open = store.begin(begin).unwrap();
    let end = End::at(Micros(1_795_271_754_000_000));
    let id = open.seal(end).unwrap();
    let payload = payload(&report(&store, &[id]).unwrap());
    for p in panels(&payload) {
        assert_eq!(p["quiet"], "empty", "{}: {}", p["id"], p["error"]);
    }
}

#[test]
fn a_page_of_a_few_numbers_asks_only_what_they_may_answer() {
    let (_dir, store) = store();
    let begin = Begin { random: 2, ..Begin::new("import", "nene", Micros(1_795_271_753_000_000)) };
    let mut open = store.begin(begin).unwrap();
    let mut rows = fenxi_model::Rows::new("nene");
    for (name, value) in [("task-clock", 1.24), ("page-faults", 61.0)] {
        rows.row(&metric::TABLE, Micros(1_795_271_753_500_000), 0.5).str(metric::name, name).f64(metric::value, value);
    }
    open.append(&mut rows).unwrap();
    let id = open.seal(End::at(Micros(1_795_271_754_000_000))).unwrap();
    let payload = payload(&report(&store, &[id]).unwrap());
    let asked = panels(&payload);
    assert!(asked.iter().any(|p| p["id"] == "other-metrics") && asked.len() <= 14, "{}", asked.len());
    assert!(!asked.iter().any(|p| p["id"] == "cpu-time"));
}

#[test]
fn several_runs_lie_over_each_other_on_time_since_their_start() {
    let (_dir, store) = store();
    let ids = [made(&store, "same", 0.0), made(&store, "same", 1.0)];
    let payload = payload(&report(&store, &ids).unwrap());
    let names: Vec<&str> = (0..2).map(|i| answers(&payload, "run")[0]["runs"][i]["name"].as_str().unwrap()).collect();
    assert_ne!(names[0], names[1], "runs of one name are told apart");
    let time = &panel(&payload, "disk-util")["time"];
    assert_eq!((time["t0"].as_f64(), time["step"].as_f64(), time["n"].as_u64()), (Some(1.0), Some(1.0), Some(20)));
    let runs: Vec<u64> = time["series"].as_array().unwrap().iter().map(|s| s["run"].as_u64().unwrap()).collect();
    assert_eq!(runs, [0, 0, 0, 1, 1, 1]);
}

#[test]
fn the_users_own_questions_appear_and_a_wrong_one_says_so_in_its_place() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let folder = store.path().join("questions");
    fs_err::create_dir_all(&folder).unwrap();
    let head = "-- title: Mine\n-- section: cpu\n-- chart: bar\n-- y: n\n";
    fs_err::write(folder.join("mine.sql"), format!("{head}SELECT run, count(*) AS n FROM cpu GROUP BY run")).unwrap();
    fs_err::write(folder.join("wrong.sql"), format!("{head}SELECT nothing_such FROM cpu")).unwrap();
    let payload = payload(&report(&store, &[id]).unwrap());
    assert_eq!(panel(&payload, "mine")["own"], true);
    assert_eq!(panel(&payload, "mine")["table"]["rows"][0][0], 20 * 5);
    assert!(panel(&payload, "wrong")["error"].as_str().unwrap().contains("nothing_such"));
}

#[test]
fn what_stands_out_comes_with_its_evidence_and_a_wrong_rule_says_so_in_its_place() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let folder = store.path().join("findings");
    fs_err::create_dir_all(&folder).unwrap();
    let head = "-- title: Wrong\n-- severity: info\n-- section: cpu\n-- message: {x}\n";
    fs_err::write(folder.join("wrong.sql"), format!("{head}SELECT run, nothing_such AS x FROM cpu")).unwrap();
    let payload = payload(&report(&store, &[id]).unwrap());
    let found = answers(&payload, "findings")[0]["found"].as_array().unwrap();
    let of = |id: &str| found.iter().find(|f| f["id"] == id).unwrap_or_else(|| panic!("no finding {id}: {found:?}"));
    // CPU 3 of the made-up run is saturated all the time, the others are not.
    let hot = of("one-cpu-saturated");
    assert!(
        hot["occurrences"][0]["message"]
            .as_str()
            .unwrap()
            .starts_with("CPU 3 was at least 95 % busy for 20.0 s of 20.0 s"),
        "{hot}"
    );
    assert_eq!(panel(&payload, hot["ask"].as_str().unwrap())["quiet"], Value::Null);
    assert!(of("wrong")["error"].as_str().unwrap().contains("wrong.sql: there is no column `nothing_such`"));
}

#[test]
fn an_unknown_kind_of_chart_is_an_error_that_lists_the_known_ones() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let folder = store.path().join("questions");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("pie.sql"), "-- title: Pie\n-- chart: pie\nSELECT 1").unwrap();
    let error = report(&store, &[id]).unwrap_err().to_string();
    assert!(error.contains("pie.sql") && error.contains("heatmap"), "{error}");
}

#[test]
fn a_report_of_no_run_is_refused() {
    let (_dir, store) = store();
    assert!(report(&store, &[]).unwrap_err().to_string().contains("at least one"));
}

#[test]
fn the_whole_address_of_a_page_gives_its_file_with_runs_by_their_ids() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let html = page(&store, "https://127.0.0.1:7070/run?run=one&from=2&to=5&hide=a%26b#disk").unwrap();
    assert_eq!(payload(&html)["page"], format!("/run?run={id}&from=2&to=5&hide=a%26b"));
    assert!(page(&store, "/nothing").unwrap_err().to_string().contains("no file can be made of a page `/nothing`"));
}

#[test]
fn only_the_embedded_program_may_run() {
    let (_dir, store) = store();
    let id = made(&store, "one", 0.0);
    let html = report(&store, &[id]).unwrap();
    let policy = html.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("script-src 'unsafe-inline'"), "{policy}");
}
