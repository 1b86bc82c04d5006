//! Every right of every kind of token, and what a token of a project must not see.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Micros, Rows, RunId, catalog::cpu};
use fenxi_store::{Begin, CompactWish, End, Store};
use fenxi_test_support::http::Answer;
use fs_err as fs;
use serde_json::{Value, json};

use crate::{
    changes::START,
    live::Events,
    support::{Served, serve_with, tokens_of},
};

/// Who asks: a name, a token, and what follows it in the file.
const WHO: [(&str, &str, &str); 5] = [
    ("rita", "reader-of-p-0123456789", "reader p"),
    ("wim", "writer-of-p-0123456789", "writer p"),
    ("rob", "reader-of-all-0123456789", "reader"),
    ("wes", "writer-of-all-0123456789", "writer"),
    ("ada", "admin-0123456789", "admin"),
];
/// No one.
const NO_ONE: usize = WHO.len();

/// Everything that is answered, and who of [`WHO`] may ask it: a letter for each, in their order. What is not here may not be there.
const RIGHTS: &[(&str, &str)] = &[
    ("GET /assets/{name}", "rwRWA0"),
    ("GET /login", "rwRWA0"),
    ("POST /login", "rwRWA0"),
    ("POST /logout", "rwRWA0"),
    ("GET /licenses", "rwRWA"),
    ("GET /metrics", "RWA"),
    ("GET /", "rwRWA"),
    ("GET /run", "rwRWA"),
    ("GET /database", "rwRWA"),
    ("GET /db-report", "rwRWA"),
    ("GET /compare", "rwRWA"),
    ("GET /study", "rwRWA"),
    ("GET /trend", "rwRWA"),
    ("GET /ask", "rwRWA"),
    ("GET /board", "rwRWA"),
    ("GET /live", "rwRWA"),
    ("GET /runs", "rwRWA"),
    ("GET /studies", "rwRWA"),
    ("GET /boards", "rwRWA"),
    ("GET /sql", "rwRWA"),
    ("GET /questions", "rwRWA"),
    ("GET /findings", "rwRWA"),
    ("GET /databases", "rwRWA"),
    ("GET /trends", "rwRWA"),
    ("GET /api/v1/live", "rwRWA"),
    ("GET /api/v1/status", "rwRWA"),
    ("GET /api/v1/openapi.json", "rwRWA"),
    ("GET /api/v1/runs/{id}/labels", "rwRWA"),
    ("PUT /api/v1/runs/{id}/labels", "wWA"),
    ("GET /api/v1/runs/{id}/export", "rwRWA"),
    ("GET /api/v1/export", "rwRWA"),
    ("GET /api/v1/report", "rwRWA"),
    ("DELETE /api/v1/runs/{id}", "A"),
    ("POST /api/v1/runs/{id}/marks", "wWA"),
    ("DELETE /api/v1/runs/{id}/marks/{text}", "wWA"),
    ("PUT /api/v1/runs/{id}/windows/{name}", "wWA"),
    ("DELETE /api/v1/runs/{id}/windows/{name}", "wWA"),
    ("POST /api/v1/average", "wWA"),
    ("PUT /api/v1/questions/{name}", "WA"),
    ("DELETE /api/v1/questions/{name}", "WA"),
    ("POST /api/v1/import", "wWA"),
    ("POST /api/v1/exchange", "rwRWA"),
    ("POST /api/v1/sql", "rwRWA"),
    ("GET /api/v1/about", "rwRWA"),
];

/// Words in the runs of another project, and in no answer to who may not see it.
const CANARIES: [&str; 5] = ["canary-name", "canary-host", "canary-tag", "canary-remark", "77.125"];

fn run(store: &Store, name: &str, host: &str, project: Option<&str>, usr: f64, random: u64) -> RunId {
    let mut tags: BTreeMap<String, String> = BTreeMap::new();
    project.map(|project| tags.insert("project".to_owned(), project.to_owned()));
    tags.insert("kind".to_owned(), if project == Some("p") { "plain" } else { "canary-tag" }.to_owned());
    let begin = Begin { name: Some(name.to_owned()), random, tags, ..Begin::new("record", host, Micros(START)) };
    let mut open = store.begin(begin).unwrap();
    let mut rows = Rows::new(host);
    for i in 1..=5 {
        rows.row(&cpu::TABLE, Micros(START + i * 1_000_000), 1.0).f64(cpu::usr, usr);
    }
    open.append(&mut rows).unwrap();
    let id = open.seal(End { exit_status: Some(0), ticks: 5, ..End::at(Micros(START + 5_000_000)) }).unwrap();
    let remark = if project == Some("p") { "plain" } else { "canary-remark" };
    let labelled = store.change_labels(&id, |entry| {
        entry.labels.remarks.push(remark.to_owned());
        Ok::<_, fenxi_store::StoreError>(())
    });
    labelled.unwrap();
    id
}

/// A server whose store has a run of the project `p`, one of `q` and one of none, in this order.
fn served() -> (Served, [RunId; 3], std::path::PathBuf) {
    let text: String = WHO.iter().map(|(name, token, may)| format!("{name} {token} {may}\n")).collect();
    let (access, path) = tokens_of(&text);
    let served = serve_with(|settings| settings.access = access);
    let store = &served.store;
    let ours = run(store, "ours", "plain-host", Some("p"), 10.0, 1);
    let theirs = run(store, "canary-name", "canary-host", Some("q"), 77.125, 2);
    let none = run(store, "canary-name", "canary-host", None, 77.125, 3);
    (served, [ours, theirs, none], path)
}

fn ask(served: &Served, who: usize, method: &str, target: &str, body: &[u8]) -> Answer {
    let mut headers = vec!["X-Fenxi: 1".to_owned()];
    if let Some((_, token, _)) = WHO.get(who) {
        headers.push(format!("Authorization: Bearer {token}"));
    }
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    served.request(method, target, &headers, body)
}

fn sql(served: &Served, who: usize, statement: &str) -> Value {
    let answer = ask(served, who, "POST", "/api/v1/sql", json!({ "q": statement }).to_string().as_bytes());
    assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
    answer.json()["rows"].clone()
}

/// The paths of the API that are only read, with their parameters.
fn reading(served: &Served) -> Vec<(String, Vec<(String, bool)>)> {
    let description: Value = ask(served, 4, "GET", "/api/v1/openapi.json", b"").json();
    let paths = description["paths"].as_object().unwrap();
    let read = paths.iter().filter_map(|(path, methods)| Some((path.clone(), methods.get("get")?)));
    let named = |p: &Value| (p["name"].as_str().unwrap().to_owned(), p["required"] == json!(true));
    read.map(|(path, get)| (path, get["parameters"].as_array().unwrap().iter().map(named).collect())).collect()
}

#[test]
fn every_route_is_for_whom_the_table_says_and_no_route_is_missing_from_it() {
    let (served, [ours, ..], _) = served();
    let mut wanted: BTreeMap<String, &str> = RIGHTS.iter().map(|(route, who)| ((*route).to_owned(), *who)).collect();
    // The endpoints of pages are read by all who may see runs; what each shows of them is another test's.
    for endpoint in fenxi_api::ENDPOINTS {
        wanted.insert(format!("GET {}", endpoint.path), "rwRWA");
    }
    let there: BTreeSet<String> =
        fenxi_serve::rights().iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    assert_eq!(there, wanted.keys().cloned().collect(), "a route without an entry here, or an entry without a route");
    // An empty token is a wrong one, and of these there are few.
    for (route, letters) in wanted.iter().filter(|(route, _)| *route != "POST /login") {
        let (method, path) = route.split_once(' ').unwrap();
        let target = path.replace("{id}", "nothing").replace("{name}", "nothing").replace("{text}", "nothing");
        // A stream has no end; of no run it has no begin.
        let target = if path == "/api/v1/live" { "/api/v1/live?run=nothing".to_owned() } else { target };
        for who in 0..=NO_ONE {
            let answer = ask(&served, who, method, &target, if method == "GET" { b"" } else { b"{}" });
            let letter = "rwRWA0".as_bytes()[who] as char;
            let refused = answer.text().contains("this needs a token of");
            let is_out = answer.status == 401 || answer.header("location").is_some_and(|to| to.starts_with("/login?"));
            match (letters.contains(letter), who == NO_ONE) {
                (true, _) => assert!(
                    !refused && answer.status != 403 && !(is_out && path != "/login" && path != "/logout"),
                    "{letter} {route}: {} {}",
                    answer.status,
                    answer.text()
                ),
                (false, true) => assert!(is_out, "no one, {route}: {} {}", answer.status, answer.text()),
                (false, false) => {
                    assert!(refused && answer.status == 403, "{letter} {route}: {} {}", answer.status, answer.text())
                }
            }
        }
    }
    assert!(served.store.run(&ours).is_ok());
    // Who asked for what is in the log, refused or not.
    assert!(served.logged("DELETE /api/v1/runs/nothing 403").ends_with(" rita"));
}

#[test]
fn no_answer_to_a_token_of_a_project_has_anything_of_other_runs() {
    let (served, ids, _) = served();
    served.store.compact(&CompactWish::default(), &mut |_, _, _| ()).unwrap();
    let after = run(&served.store, "canary-name", "canary-host", Some("q"), 77.125, 4);
    let hidden: Vec<&str> = [&ids[1], &ids[2], &after].map(RunId::as_str).into();
    let clean = |who: usize, target: &str, echoed: &str| {
        let answer = ask(&served, who, "GET", target, b"");
        // The error names what was asked for.
        let text = answer.text().replace(echoed, "");
        for canary in CANARIES.iter().chain(&hidden) {
            assert!(!text.contains(canary), "{target} has {canary}: {text}");
        }
        answer
    };
    let mut asked = 0;
    for (path, params) in reading(&served) {
        if path == "/api/v1/live" || path == "/metrics" {
            continue;
        }
        let value = |name: &str, run: &str| match name {
            "run" | "id" | "a" | "b" | "q" if path != "/api/v1/sql" => Some(run.to_owned()),
            "q" => Some("SELECT * FROM cpu".to_owned()),
            "page" => Some(format!("/run?run={run}")),
            "question" => Some("cpu-time".to_owned()),
            "metric" => Some("cpu.usr".to_owned()),
            _ => None,
        };
        // By its id, by its name and by a tag; as who would list all; and by what is their own.
        for run in [hidden[0], "canary-name", "project=q", "kind=canary-tag", "@1", "@2", "@3", "ours", "project=p"] {
            for all in [false, true] {
                let given = params.iter().filter(|(name, required)| all || *required || name == "run" || name == "id");
                let pairs: Vec<String> = given
                    .filter_map(|(name, _)| {
                        value(name, run).map(|v| format!("{name}={}", v.replace(' ', "%20").replace('*', "%2A")))
                    })
                    .collect();
                let target = format!("{}?{}", path.replace("{id}", run).replace("{name}", "x"), pairs.join("&"));
                for who in [0, 1] {
                    let answer = clean(who, &target, run.split('=').next_back().unwrap());
                    assert_ne!(answer.status, 500, "{target}: {}", answer.text());
                    let is_named = path.contains("{id}") && (run == hidden[0] || run == "canary-name");
                    assert!(!is_named || answer.status == 404, "{target}: {}", answer.status);
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 300, "{asked}");
}

#[test]
fn a_statement_of_a_token_of_a_project_reads_its_runs_alone_also_of_files_of_many_runs() {
    let (served, [ours, theirs, _], _) = served();
    for packed in [false, true] {
        if packed {
            served.store.compact(&CompactWish::default(), &mut |_, _, _| ()).unwrap();
            assert!(served.store.is_packed(&theirs, "cpu").unwrap());
        }
        for who in [0, 1] {
            assert_eq!(sql(&served, who, "SELECT count(*), max(usr) FROM cpu"), json!([[5, 10.0]]));
            assert_eq!(sql(&served, who, "SELECT DISTINCT run FROM cpu"), json!([[ours.as_str()]]));
            assert_eq!(sql(&served, who, "SELECT count(*) FROM runs"), json!([[1]]));
            assert_eq!(sql(&served, who, &format!("SELECT count(*) FROM cpu WHERE run = '{theirs}'")), json!([[0]]));
            assert_eq!(sql(&served, who, "SELECT count(*) FROM cpu WHERE run IN (SELECT run FROM runs)"), json!([[5]]));
            for run in [theirs.as_str(), "project=q", "canary-name"] {
                let body = json!({ "q": "SELECT * FROM cpu", "run": [run] }).to_string();
                assert_eq!(ask(&served, who, "POST", "/api/v1/sql", body.as_bytes()).status, 404, "{run}");
            }
        }
        for who in [2, 3, 4] {
            assert_eq!(sql(&served, who, "SELECT count(*), max(usr) FROM cpu"), json!([[15, 77.125]]));
        }
    }
}

#[test]
fn a_recording_of_another_project_is_neither_listed_nor_followed_nor_this_machine_watched() {
    let (served, _, _) = served();
    let tags = [("project".to_owned(), "q".to_owned())].into();
    let begin =
        Begin { name: Some("canary-name-open".to_owned()), tags, ..Begin::new("record", "canary-host", Micros(START)) };
    let open = served.store.begin(begin).unwrap();
    let status = |who: usize| ask(&served, who, "GET", "/api/v1/status", b"").json();
    assert_eq!((status(0)["recordings"].clone(), status(0)["sources"].clone()), (json!([]), json!([])));
    assert_eq!(status(2)["recordings"].as_array().unwrap().len(), 1);
    for run in [open.id().as_str(), "canary-name-open"] {
        assert_eq!(ask(&served, 0, "GET", &format!("/api/v1/live?run={run}"), b"").status, 404);
    }
    let refused = ask(&served, 0, "GET", "/api/v1/live", b"");
    assert!(refused.status == 403 && refused.text().contains("reader of all projects"), "{}", refused.text());
    open.discard().unwrap();
}

#[test]
fn a_writer_of_a_project_changes_its_runs_alone_and_moves_none_out_of_it() {
    let (served, [ours, theirs, _], _) = served();
    let labels = |id: &RunId| served.store.run(id).unwrap().labels;
    let before = labels(&theirs);
    let put = |id: &str, body: Value| {
        ask(&served, 1, "PUT", &format!("/api/v1/runs/{id}/labels"), body.to_string().as_bytes()).status
    };
    assert_eq!(put("ours", json!({ "remarks": ["by wim"] })), 200);
    assert_eq!(labels(&ours).changes.last().unwrap().by, "wim");
    for name in [theirs.as_str(), "canary-name", "project=q"] {
        assert_eq!(put(name, json!({ "remarks": ["x"] })), 404, "{name}");
        let target = format!("/api/v1/runs/{name}/marks");
        assert_eq!(ask(&served, 1, "POST", &target, br#"{"at_s": 1, "text": "x"}"#).status, 404);
        let target = format!("/api/v1/runs/{name}/windows/w");
        assert_eq!(ask(&served, 1, "PUT", &target, br#"{"from_s": 1, "to_s": 2}"#).status, 404);
        let body = json!({ "runs": ["ours", name] }).to_string();
        assert_eq!(ask(&served, 1, "POST", "/api/v1/average", body.as_bytes()).status, 404);
    }
    for tags in [json!({ "project": "q" }), json!({}), json!({ "project": "" })] {
        assert_eq!(put("ours", json!({ "tags": tags })), 403);
    }
    assert_eq!(labels(&ours).tags["project"], "p");
    // Labels of another store are merged into its own runs, and the project stays.
    let theirs_labels = json!({ "tags": { "project": "q", "kind": "x" }, "remarks": ["merged"] });
    let body = json!({ "labels": { ours.as_str(): theirs_labels, theirs.as_str(): theirs_labels } }).to_string();
    let merged = ask(&served, 1, "POST", "/api/v1/exchange", body.as_bytes());
    assert_eq!(merged.status, 200, "{}", merged.text());
    assert_eq!(merged.json()["runs"].as_object().unwrap().keys().collect::<Vec<_>>(), [ours.as_str()]);
    assert_eq!(ask(&served, 0, "POST", "/api/v1/exchange", body.as_bytes()).status, 403, "a reader changes nothing");
    assert_eq!(labels(&ours).tags["project"], "p");
    assert!(labels(&ours).remarks.contains(&"merged".to_owned()));
    assert_eq!(labels(&theirs), before);
    // A run made of its runs is of its project.
    run(&served.store, "more", "plain-host", Some("p"), 12.0, 5);
    let made = ask(&served, 1, "POST", "/api/v1/average", br#"{"runs": ["ours", "more"], "window": "all"}"#);
    assert_eq!(made.status, 200, "{}", made.text());
    let id = RunId::parse(made.json()["run"].as_str().unwrap()).unwrap();
    assert_eq!(labels(&id).tags["project"], "p");
}

#[test]
fn what_a_writer_of_a_project_sends_becomes_a_run_of_it_and_never_changes_another() {
    let (served, [_, theirs, _], _) = served();
    let other = tempfile::tempdir().unwrap();
    let other = Store::open_or_create(other.path().join("store")).unwrap();
    let id = run(&other, "carried", "h", Some("q"), 3.0, 9);
    let archive = |store: &Store, id: &RunId| {
        let mut archive = Vec::new();
        store.export(std::slice::from_ref(id), &mut archive).unwrap();
        archive
    };
    let send = |who: usize, body: &[u8]| ask(&served, who, "POST", "/api/v1/import", body);
    assert_eq!(send(0, &archive(&other, &id)).status, 403);
    let sent = send(1, &archive(&other, &id));
    assert_eq!((sent.status, sent.json()["runs"].clone()), (200, json!([id.as_str()])), "{}", sent.text());
    assert_eq!(served.store.run(&id).unwrap().labels.tags["project"], "p");
    let before = served.store.run(&theirs).unwrap();
    let sent = send(1, &archive(&served.store, &theirs));
    assert!(sent.status == 409 && sent.text().contains("not yours"), "{}", sent.text());
    assert_eq!(served.store.run(&theirs).unwrap(), before);
    // A file of another tool, too, also one that a run of another project has.
    let mpstat = b"CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl\n  0    1   2    3     4    5    6    7    8    9   10    11   12  13   0  75\n";
    let all = send(4, mpstat);
    assert_eq!(all.status, 200, "{}", all.text());
    let own = send(1, mpstat);
    assert_eq!(own.status, 200, "{}", own.text());
    let (all, own) = (all.json()["runs"][0].clone(), own.json()["runs"][0].clone());
    assert_ne!(all, own, "who may not see it has another one");
    assert_eq!(served.store.run(&RunId::parse(own.as_str().unwrap()).unwrap()).unwrap().labels.tags["project"], "p");
}

#[test]
fn a_session_lasts_no_longer_than_its_token() {
    let (served, _, path) = served();
    let form = format!("token={}", WHO[0].1);
    let origin = format!("Origin: http://{}", served.address);
    let form_type = "Content-Type: application/x-www-form-urlencoded";
    let login = served.request("POST", "/login", &[&origin, form_type], form.as_bytes());
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let listed = || served.request("GET", "/api/v1/runs", &[&format!("Cookie: {cookie}")], b"");
    assert_eq!(listed().status, 200);
    assert!(!listed().text().contains("canary-name"));
    let text: String = WHO[1..].iter().map(|(name, token, may)| format!("{name} {token} {may}\n")).collect();
    fs::write(&path, &text).unwrap();
    assert_eq!(listed().status, 401);
    // A right that was taken away, too.
    fs::write(&path, text.replace("writer p", "reader p")).unwrap();
    assert_eq!(ask(&served, 1, "PUT", "/api/v1/runs/ours/labels", b"{}").status, 403);
    fs::write(&path, "broken").unwrap();
    assert_eq!(ask(&served, 4, "GET", "/api/v1/runs", b"").status, 401);
    served.logged("no token is valid until the file can be read");
}

#[test]
fn what_somebody_writes_about_a_run_is_heard_by_who_may_see_it_as_long_as_they_may() {
    let (served, [ours, theirs, _], path) = served();
    let token = |who: usize| format!("Authorization: Bearer {}", WHO[who].1);
    let refused = ask(&served, 0, "GET", &format!("/api/v1/live?labels={theirs}"), b"");
    assert_eq!(refused.status, 404, "{}", refused.text());
    let target = format!("/api/v1/live?labels={ours}");
    let mut heard = Events::open_as(&served, &target, &token(0));
    let mut admin = Events::open_as(&served, &target, &token(4));
    let first = heard.next();
    assert_eq!((first.0.as_str(), first.1["run"].as_str()), ("labels", Some(ours.as_str())));
    assert_eq!(admin.next(), first);
    let say = |who: usize, body: &[u8]| ask(&served, who, "POST", &format!("/api/v1/runs/{ours}/marks"), body).status;
    assert_eq!(say(1, br#"{"at_s": 1, "text": "failover"}"#), 200);
    let (name, second) = heard.next();
    assert!(name == "labels" && second["version"] != first.1["version"], "{second}");
    assert_eq!(admin.next().1, second);
    let run = ask(&served, 0, "GET", &format!("/api/v1/run?run={ours}"), b"").json();
    let mark = &run["runs"][0]["marked"][0];
    assert_eq!((mark["text"].as_str(), mark["author"]["by"].as_str()), (Some("failover"), Some("wim")), "{mark}");
    assert!(mark["author"]["at_ms"].as_f64().unwrap() > 1e12);
    // A mark of another program on the same store.
    served
        .store
        .mark(&ours, fenxi_store::Mark { t: Micros(START + 2_000_000), text: "m".to_owned(), host: None })
        .unwrap();
    assert_ne!(heard.next().1["version"], second["version"]);
    admin.next();
    // A run that goes to another project is no more to be seen by who sees this one only.
    let body = json!({ "tags": { "project": "q" } }).to_string();
    assert_eq!(ask(&served, 4, "PUT", &format!("/api/v1/runs/{ours}/labels"), body.as_bytes()).status, 200);
    assert_eq!(heard.next().0, "end");
    assert_eq!(admin.next().0, "labels");
    fs::write(&path, format!("{} {} {}\n", WHO[0].0, WHO[0].1, WHO[0].2)).unwrap();
    assert_eq!(admin.next().0, "end", "its token is gone");
}
