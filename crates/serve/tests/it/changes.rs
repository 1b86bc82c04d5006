//! Permitted changes are made, and nothing else.

use std::collections::BTreeMap;

use fenxi_model::{Micros, Rows, RunId, catalog::cpu};
use fenxi_store::{Begin, End, Store};
use serde_json::json;

use crate::support::{Served, serve, serve_with};

/// 2026-11-21 14:35:53 UTC.
pub const START: i64 = 1_795_271_753_000_000;

pub fn begin(name: &str, random: u64) -> Begin {
    Begin {
        name: Some(name.to_owned()),
        interval_s: Some(1.0),
        random,
        sources: vec!["cpu".to_owned()],
        ..Begin::new("record", "h1", Micros(START))
    }
}

pub fn tick(i: i64, rows: &mut Rows) {
    let t = Micros(START + i * 1_000_000);
    rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, i as f64);
    rows.row(&cpu::TABLE, t, 1.0).str(cpu::cpu, "0").f64(cpu::usr, i as f64 * 2.0);
}

/// A sealed run of ten seconds.
pub fn run(store: &Store, name: &str, random: u64) -> RunId {
    run_of(store, name, random, 10)
}

/// A sealed run of so many seconds.
fn run_of(store: &Store, name: &str, random: u64, seconds: i64) -> RunId {
    let mut open = store.begin(begin(name, random)).unwrap();
    let mut rows = Rows::new("h1");
    for i in 1..=seconds {
        tick(i, &mut rows);
        if i % 1000 == 0 || seconds <= 10 {
            open.append(&mut rows).unwrap();
        }
    }
    let end = End { exit_status: Some(0), ticks: seconds as u64, ..End::at(Micros(START + seconds * 1_000_000)) };
    open.seal(end).unwrap()
}

fn error(served: &Served, method: &str, target: &str, body: &str, status: u16) -> String {
    let answer = served.change(method, target, body);
    assert_eq!(answer.status, status, "{method} {target}: {}", answer.text());
    answer.json()["error"].as_str().unwrap().to_owned()
}

#[test]
fn labels_are_set_as_far_as_they_are_given() {
    let served = serve();
    let id = run(&served.store, "first", 1);
    let target = format!("/api/v1/runs/{id}/labels");
    let attack = "<img src=x onerror=alert(1)>";
    let body = json!({ "name": attack, "tags": { "a": "1" }, "baseline": true, "remarks": ["one"] }).to_string();
    assert_eq!(served.change("PUT", &target, &body).json()["tags"]["a"], "1");
    assert_eq!(served.change("PUT", "/api/v1/runs/@1/labels", r#"{"tags":{"b":"2"}}"#).status, 200);
    let labels = served.store.run(&id).unwrap().labels;
    assert_eq!((labels.name.as_deref(), labels.baseline, labels.remarks.len()), (Some(attack), true, 1));
    assert_eq!(labels.tags, BTreeMap::from([("b".to_owned(), "2".to_owned())]));
    served.change("PUT", &target, r#"{"name":null}"#);
    assert_eq!(served.store.run(&id).unwrap().labels.name, None);
    assert!(error(&served, "PUT", &target, r#"{"nam":"x"}"#, 400).contains("`nam`"));
    assert!(error(&served, "PUT", &target, r#"{"tags":{"a=b":"x"}}"#, 400).contains("tag"));
    assert!(error(&served, "PUT", &target, "{", 400).contains("JSON"));
    error(&served, "PUT", &target, &format!("{{\"remarks\":{}1{}}}", "[".repeat(5000), "]".repeat(5000)), 400);
    error(&served, "PUT", "/api/v1/runs/nothing/labels", "{}", 404);
    let odd = served.change("PUT", "/api/v1/runs/%2e%2e%2f%00/labels", "{}").status;
    assert!([400, 404].contains(&odd), "{odd}");
    assert_eq!(served.change("PUT", "/api/v1/runs/%ff/labels", "{}").status, 400);
}

#[test]
fn of_two_who_change_labels_at_once_the_second_is_refused() {
    let served = serve_with(|_| ());
    let id = run(&served.store, "first", 1);
    let target = format!("/api/v1/runs/{id}/labels");
    let put = |tag: &str, body: &str| {
        served.request("PUT", &target, &["X-Fenxi: 1", &format!("If-Match: {tag}")], body.as_bytes())
    };
    let read = served.get(&target);
    assert_eq!((read.status, read.json()["name"].as_str()), (200, Some("first")));
    let seen = read.header("etag").unwrap().to_owned();
    let first = put(&seen, r#"{"tags":{"a":"1"}}"#);
    assert_eq!(first.status, 200, "{}", first.text());
    let second = put(&seen, r#"{"tags":{"b":"2"}}"#);
    assert_eq!(second.status, 412, "{}", second.text());
    assert!(second.json()["error"].as_str().unwrap().contains("changed these labels meanwhile"));
    let now = first.header("etag").unwrap();
    assert_eq!(served.get(&target).header("etag"), Some(now));
    assert_eq!(put(&format!("W/{now}"), "{}").status, 412, "a weak tag is none");
    assert_eq!(put(&format!("\"x\", {now}"), r#"{"tags":{"a":"1","b":"2"}}"#).status, 200);
    assert_eq!((put("*", "{}").status, served.change("PUT", &target, "{}").status), (200, 200));
    assert_eq!(served.store.run(&id).unwrap().labels.tags.len(), 2);
    // Who may not change may read.
    assert_eq!(serve_with(|s| s.read_only = true).get("/api/v1/runs/@1/labels").status, 404);
}

#[test]
fn a_run_is_removed_by_its_whole_id_only() {
    let served = serve();
    let id = run(&served.store, "first", 1);
    error(&served, "DELETE", "/api/v1/runs/@1", "", 400);
    error(&served, "DELETE", "/api/v1/runs/first", "", 400);
    assert_eq!(served.change("DELETE", &format!("/api/v1/runs/{id}"), "").status, 200);
    error(&served, "DELETE", &format!("/api/v1/runs/{id}"), "", 404);
    assert_eq!(served.store.ids().unwrap(), []);
}

#[test]
fn windows_are_named_and_forgotten() {
    let served = serve();
    let id = run(&served.store, "first", 1);
    let target = format!("/api/v1/runs/{id}/windows/steady");
    let window = served.change("PUT", &target, r#"{"from_s":2,"to_s":10.4}"#).json();
    assert_eq!(window, json!({ "name": "steady", "from_s": 2.0, "to_s": 10.0 }));
    for body in [r#"{"from_s":-1,"to_s":2}"#, r#"{"from_s":5,"to_s":5}"#, r#"{"from_s":0,"to_s":1e300}"#] {
        error(&served, "PUT", &target, body, 400);
    }
    error(&served, "PUT", &format!("/api/v1/runs/{id}/windows/all"), r#"{"from_s":0,"to_s":1}"#, 400);
    assert_eq!(served.change("DELETE", &target, "").status, 200);
    error(&served, "DELETE", &target, "", 404);
    assert!(served.store.run(&id).unwrap().windows().is_empty());
}

#[test]
fn moments_are_marked_and_forgotten() {
    let served = serve();
    let id = run(&served.store, "first", 1);
    let target = format!("/api/v1/runs/{id}/marks");
    let mark = served.change("POST", &target, r#"{"at_s":2.5,"text":" failover begins "}"#).json();
    assert_eq!(mark, json!({ "at_s": 2.5, "text": "failover begins", "host": null }));
    for body in
        [r#"{"at_s":-1,"text":"x"}"#, r#"{"at_s":1,"text":" "}"#, r#"{"at_s":1e300,"text":"x"}"#, r#"{"at_s":1}"#]
    {
        error(&served, "POST", &target, body, 400);
    }
    assert_eq!(served.store.marks(&id).unwrap().len(), 1);
    assert_eq!(served.change("DELETE", &format!("{target}/failover%20begins"), "").status, 200);
    error(&served, "DELETE", &format!("{target}/failover%20begins"), "", 404);
    assert_eq!(served.store.marks(&id).unwrap(), []);
}

#[test]
fn runs_are_averaged() {
    let served = serve();
    let ids = [run(&served.store, "a", 1), run(&served.store, "b", 2)];
    let body = json!({ "runs": ids, "name": "mean", "window": null, "drop_outliers": false }).to_string();
    let made = served.change("POST", "/api/v1/average", &body).json();
    let id = RunId::parse(made["run"].as_str().unwrap()).unwrap();
    assert_eq!(served.store.run(&id).unwrap().labels.name.as_deref(), Some("mean"));
    assert_eq!(made["of"].as_array().unwrap().len(), 2);
    error(&served, "POST", "/api/v1/average", r#"{"runs":["a"]}"#, 400);
    error(&served, "POST", "/api/v1/average", r#"{"runs":[]}"#, 400);
    error(&served, "POST", "/api/v1/average", r#"{"runs":["nothing"]}"#, 404);
}

#[test]
fn an_average_ends_at_the_limits_of_memory_and_time() {
    let many = |served: &Served| {
        let ids = [run(&served.store, "a", 1), run(&served.store, "b", 2)];
        json!({ "runs": ids }).to_string()
    };
    let small = serve_with(|s| s.limits.memory_bytes = 1);
    error(&small, "POST", "/api/v1/average", &many(&small), 413);
    let long = serve_with(|s| s.limits.memory_bytes = 8 << 20);
    let ids = [run(&long.store, "a", 1), run_of(&long.store, "b", 2, 50_000)];
    error(&long, "POST", "/api/v1/average", &json!({ "runs": ids, "window": "all" }).to_string(), 413);
    let late = serve_with(|s| s.limits.import_time = std::time::Duration::ZERO);
    let said = error(&late, "POST", "/api/v1/average", &many(&late), 408);
    for served in [&small, &long, &late] {
        assert_eq!(served.store.ids().unwrap().len(), 2);
    }
    assert!(said.contains("an average may take 0 s"), "{said}");
}

#[test]
fn a_question_is_kept_when_the_engine_understands_it() {
    let served = serve();
    let text = "-- title: Mine\n-- chart: line\n-- param: n = 3, how many\nSELECT t, usr FROM cpu LIMIT $n";
    assert_eq!(served.change("PUT", "/api/v1/questions/mine", text).status, 200);
    assert!(fenxi_query::question(&served.store, "mine").unwrap().own);
    for (text, said) in [
        ("SELECT 1", "title"),
        ("-- title: T\nSELECT nothing FROM cpu", "`nothing`"),
        ("-- title: T\nDROP TABLE cpu", "DROP"),
        ("-- title: T\nSELECT 1; SELECT 2", "several"),
        ("-- title: T\nSELECT * FROM read_csv('/etc/passwd')", ""),
        ("-- title: T\nATTACH '/tmp/x.db'", ""),
        ("-- title: T\nCOPY (SELECT 1) TO '/tmp/x'", ""),
    ] {
        let why = error(&served, "PUT", "/api/v1/questions/bad", text, 400);
        assert!(why.contains(said), "{text}: {why}");
    }
    error(&served, "PUT", "/api/v1/questions/..%2Fmine", text, 400);
    error(&served, "PUT", "/api/v1/questions/%2e%2e%2f%2e%2e%2fmine", text, 400);
    assert_eq!(served.change("DELETE", "/api/v1/questions/mine", "").status, 200);
    error(&served, "DELETE", "/api/v1/questions/mine", "", 404);
}

#[test]
fn an_export_comes_back_bit_for_bit() {
    let served = serve();
    let ids = [run(&served.store, "a", 1), run(&served.store, "b", 2)];
    let one = served.get(&format!("/api/v1/runs/{}/export", ids[0]));
    let name = format!("attachment; filename=\"{}.tar.zst\"", ids[0]);
    assert_eq!((one.status, one.header("content-disposition")), (200, Some(name.as_str())));
    let both = served.get("/api/v1/export?run=a&run=b");
    assert_eq!(both.status, 200);
    let other = serve();
    let taken = other.request("POST", "/api/v1/import?filename=x", &["X-Fenxi: 1"], &both.body);
    assert_eq!(taken.json()["runs"].as_array().unwrap().len(), 2, "{}", taken.text());
    let again = other.get(&format!("/api/v1/runs/{}/export", ids[0]));
    assert!(again.body == one.body);
    assert_eq!(served.get("/api/v1/runs/nothing/export").status, 404);
    assert_eq!(served.get("/api/v1/export").status, 400);
    let cut = &both.body[..both.body.len() / 2];
    let refused = serve().request("POST", "/api/v1/import", &["X-Fenxi: 1"], cut);
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[test]
fn a_file_of_another_tool_is_imported_and_a_bomb_is_not() {
    let served = serve_with(|s| s.limits.upload_bytes = 100_000);
    let vmstat = "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------\n \
                  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu\n \
                  1  0      0 100000   2000  30000    0    0     1     2  300  400 10  5 85  0  0  0\n \
                  2  0      0 100000   2000  30000    0    0     1     2  300  400 20  5 75  0  0  0\n";
    let post = |name: &str, body: &[u8]| {
        served.request("POST", &format!("/api/v1/import?filename={name}"), &["X-Fenxi: 1"], body)
    };
    let made = post("..%2F..%2Fvmstat.txt", vmstat.as_bytes());
    assert_eq!(made.status, 200, "{}", made.text());
    let id = served.store.select_one(made.json()["runs"][0].as_str().unwrap()).unwrap();
    assert_eq!(served.store.run(&id).unwrap().manifest.inputs[0].name, "vmstat.txt");
    // The same once more is the same run.
    assert_eq!(post("vmstat.txt", vmstat.as_bytes()).json()["runs"][0], json!(id));
    assert_eq!(post("x", b"nothing that anybody knows").status, 400);
    assert_eq!(post("x", b"").status, 400);
    assert_eq!(post("x", &vec![b'x'; 200_000]).status, 413);
    let bomb = std::process::Command::new("sh").args(["-c", "head -c 20000000 /dev/zero | gzip -9"]).output().unwrap();
    assert!(bomb.stdout.len() < 50_000);
    let refused = post("bomb.gz", &bomb.stdout);
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert_eq!(served.store.ids().unwrap().len(), 1);
    let left = fs_err::read_dir(served.store.path().join("open")).unwrap().count();
    assert_eq!(left, 0, "no upload stays, nor half an import");
}

#[test]
fn an_import_that_takes_too_long_is_stopped() {
    let served = serve_with(|s| s.limits.import_time = std::time::Duration::ZERO);
    let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n".repeat(100);
    let archive = {
        let other = serve();
        let id = run(&other.store, "a", 1);
        other.get(&format!("/api/v1/runs/{id}/export")).body
    };
    for body in [vmstat.as_bytes(), &archive] {
        let answer = served.request("POST", "/api/v1/import", &["X-Fenxi: 1"], body);
        assert_eq!(answer.status, 408, "{}", answer.text());
        assert!(answer.text().contains("--import-time"), "{}", answer.text());
    }
    assert_eq!(served.store.ids().unwrap(), []);
    assert_eq!(fs_err::read_dir(served.store.path().join("open")).unwrap().count(), 0);
}

/// Output of vmstat over so many seconds, of which the last figure makes one file another.
fn vmstat(seconds: usize, other: usize) -> Vec<u8> {
    let head = "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------\n \
                r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu\n";
    let rows = (0..seconds).map(|n| {
        format!(" 1  0      0 {}   2000  30000    0    0     1     2  300  400 10  5 85  0  0  {other}\n", 100_000 + n)
    });
    [head.to_owned(), rows.collect()].concat().into_bytes()
}

#[test]
fn two_uploads_become_runs_at_a_time_and_the_third_waits_and_is_told_so() {
    let served = serve_with(|s| s.limits.time = std::time::Duration::from_millis(150));
    let post = |name: &str, body: &[u8]| {
        served.request("POST", &format!("/api/v1/import?filename={name}"), &["X-Fenxi: 1"], body)
    };
    let (long, short) = ([vmstat(400_000, 0), vmstat(400_000, 1)], vmstat(3, 2));
    let ended = std::sync::atomic::AtomicUsize::new(0);
    let over = || ended.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        for body in &long {
            let (post, ended) = (&post, &ended);
            scope.spawn(move || {
                // Both may have to wait for a short one that came between.
                let taken = std::iter::repeat_with(|| post("long.txt", body)).find(|answer| answer.status != 503);
                ended.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                assert_eq!(taken.map(|answer| answer.status), Some(200));
            });
        }
        // While both are at work, a third one waits for as long as an answer may take, and gets the reason.
        let mut told = None;
        while over() == 0 && told.is_none() {
            let third = post("short.txt", &short);
            told = (third.status == 503).then_some(third);
        }
        let told = told.expect("a third upload that waited");
        assert!(told.text().contains("other imports take all places"), "{}", told.text());
        assert_eq!(told.header("retry-after"), Some("2"));
    });
    assert_eq!(post("short.txt", &short).status, 200);
    assert_eq!(served.store.ids().unwrap().len(), 3);
}

#[test]
fn an_import_that_takes_more_memory_than_the_server_has_is_refused() {
    let served = serve_with(|s| s.limits.memory_bytes = 1);
    let mut many =
        "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error (99.9%)\",\"Unit\"\n".to_owned();
    for n in 0..100_000 {
        many += &format!("\"a.b.C.m{n}{}\",\"thrpt\",1,5,{n}.5,1.0,\"ops/s\"\n", "n".repeat(100));
    }
    let post = |body: &[u8]| served.request("POST", "/api/v1/import?filename=many.csv", &["X-Fenxi: 1"], body);
    let refused = post(many.as_bytes());
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert!(refused.text().contains("--memory"), "{}", refused.text());
    assert_eq!(served.store.ids().unwrap(), []);
    // A small file is taken all the same.
    assert_eq!(post(&vmstat(3, 4)).status, 200);
}

#[test]
fn uploads_that_drip_keep_no_other_waiting() {
    let served = serve_with(|s| s.limits.transfers = 1);
    let begin = |sent: usize| {
        let mut stream = std::net::TcpStream::connect(served.address).unwrap();
        let head = format!(
            "POST /api/v1/import?filename=x HTTP/1.1\r\nHost: {}\r\nX-Fenxi: 1\r\nContent-Length: 99000000\r\n\r\n",
            served.address
        );
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        std::io::Write::write_all(&mut stream, &vec![b'x'; sent]).unwrap();
        stream
    };
    // One has the only turn; forty have sent next to nothing.
    let _held: Vec<_> = std::iter::once(3 << 20).chain([5; 40]).map(begin).collect();
    let post = |body: &[u8]| served.request("POST", "/api/v1/import?filename=v.txt", &["X-Fenxi: 1"], body);
    assert_eq!(post(&vmstat(3, 1)).status, 200);
    // A large file takes the turn of the one that has stalled meanwhile.
    let large = vmstat(30_000, 2);
    assert!(large.len() > 2 << 20);
    let taken = post(&large);
    assert_eq!(taken.status, 200, "{}", taken.text());
}

#[test]
fn an_archive_of_archives_is_bounded_as_a_whole_and_in_time() {
    // Each member is harmless; together they are 400 MB, and the upload is small enough for them by its own size alone.
    let make = "cd \"$1\" && head -c 8000000 /dev/zero | gzip -9 >a.gz && for i in $(seq 50); do cp a.gz $i.gz; done && \
                head -c 3000000 /dev/urandom >noise && tar cf - noise *.gz";
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("sh").args(["-c", make, "sh"]).arg(dir.path()).output().unwrap();
    assert!((3_000_000..4_000_000).contains(&made.stdout.len()), "{}", String::from_utf8_lossy(&made.stderr));
    let post = |served: &crate::support::Served| {
        let begun = std::time::Instant::now();
        let answer = served.request("POST", "/api/v1/import?filename=n.tar", &["X-Fenxi: 1"], &made.stdout);
        let left = fs_err::read_dir(served.store.path().join("open")).unwrap().count();
        assert_eq!((left, served.store.ids().unwrap().len()), (0, 0), "nothing stays of it");
        (answer, begun.elapsed())
    };
    let (refused, _) = post(&serve_with(|s| s.limits.upload_bytes = 10_000_000));
    assert!([400, 413].contains(&refused.status), "{}", refused.text());
    let (late, took) = post(&serve_with(|s| s.limits.import_time = std::time::Duration::from_millis(100)));
    assert_eq!(late.status, 408, "{}", late.text());
    assert!(late.text().contains("--import-time") && took.as_secs() < 10, "{took:?}: {}", late.text());
}

#[test]
fn an_upload_is_read_by_patterns_of_the_store_and_never_given_to_its_programs() {
    use std::os::unix::fs::PermissionsExt;
    let served = serve_with(|s| s.limits.upload_bytes = 100_000);
    let formats = served.store.path().join("formats");
    let fixtures = std::path::Path::new("../formats/fixtures/own");
    fs_err::copy(fixtures.join("poolstat.toml"), formats.join("poolstat.toml")).unwrap();
    // It takes anything for its own.
    fs_err::write(formats.join("greedy"), "#!/bin/sh\necho certain\n").unwrap();
    fs_err::set_permissions(formats.join("greedy"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let post = |body: &[u8]| served.request("POST", "/api/v1/import?filename=x", &["X-Fenxi: 1"], body);
    let made = post(&fs_err::read(fixtures.join("poolstat.txt")).unwrap());
    assert_eq!(made.status, 200, "{}", made.text());
    let id = served.store.select_one(made.json()["runs"][0].as_str().unwrap()).unwrap();
    assert_eq!(served.store.run(&id).unwrap().manifest.inputs[0].format.as_deref(), Some("poolstat"));
    let refused = post(b"nothing that anybody but greedy knows");
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("unknown format"), "{}", refused.text());
}

#[test]
fn a_server_that_is_read_only_changes_nothing() {
    let served = serve_with(|s| s.read_only = true);
    let id = run(&served.store, "first", 1);
    for (method, path) in [
        ("PUT", format!("/api/v1/runs/{id}/labels")),
        ("DELETE", format!("/api/v1/runs/{id}")),
        ("PUT", format!("/api/v1/runs/{id}/windows/steady")),
        ("DELETE", format!("/api/v1/runs/{id}/windows/steady")),
        ("POST", format!("/api/v1/runs/{id}/marks")),
        ("DELETE", format!("/api/v1/runs/{id}/marks/x")),
        ("POST", "/api/v1/average".to_owned()),
        ("PUT", "/api/v1/questions/mine".to_owned()),
        ("DELETE", "/api/v1/questions/mine".to_owned()),
        ("POST", "/api/v1/import".to_owned()),
    ] {
        assert!(error(&served, method, &path, "{}", 403).contains("--read-only"), "{method} {path}");
    }
    assert_eq!(served.store.ids().unwrap(), [id]);
}
