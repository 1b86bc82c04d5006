//! Requests that take too long, are too much, or are no longer waited for end.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use fenxi_model::{
    Micros, Rows,
    catalog::{disk, result},
};
use fenxi_store::{Begin, End, Store};

use crate::support::{Served, serve, serve_with, wait_for};

/// A statement that takes minutes.
const SLOW: &str = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3";

fn sql(served: &Served, statement: &str, more: &str) -> crate::support::Answer {
    let encoded: String = statement.bytes().map(|b| format!("%{b:02x}")).collect();
    served.get(&format!("/api/v1/sql?q={encoded}{more}"))
}

fn busy(served: &Served) -> String {
    served.get("/metrics").text().lines().find(|l| l.starts_with("fenxi_engines_busy ")).unwrap().to_owned()
}

#[test]
fn a_statement_that_takes_too_long_is_stopped_and_the_engine_works_on() {
    let served = serve_with(|s| s.limits.time = Duration::from_millis(300));
    let begun = Instant::now();
    let stopped = sql(&served, SLOW, "");
    assert_eq!(stopped.status, 408, "{}", stopped.text());
    assert!(stopped.json()["error"].as_str().unwrap().contains("--time-limit"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    wait_for("the engine to be free", || busy(&served) == "fenxi_engines_busy 0");
    for _ in 0..3 {
        assert_eq!(sql(&served, "SELECT 42 AS a", "").json()["rows"][0][0], 42);
    }
}

#[test]
fn a_statement_whose_client_has_gone_is_stopped() {
    let served = serve();
    let encoded: String = SLOW.bytes().map(|b| format!("%{b:02x}")).collect();
    let mut stream = TcpStream::connect(served.address).unwrap();
    write!(stream, "GET /api/v1/sql?q={encoded} HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
    wait_for("the statement to begin", || busy(&served) == "fenxi_engines_busy 1");
    drop(stream);
    let begun = Instant::now();
    wait_for("the statement to end", || busy(&served) == "fenxi_engines_busy 0");
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(served.logged(" 499 ").contains("GET /api/v1/sql?q="));
}

#[test]
fn pages_are_answered_beside_long_statements_and_a_full_queue_says_so() {
    let served = serve_with(|s| s.limits.queue = 1);
    let encoded: String = SLOW.bytes().map(|b| format!("%{b:02x}")).collect();
    let ask = || {
        let mut stream = TcpStream::connect(served.address).unwrap();
        write!(stream, "GET /api/v1/sql?q={encoded} HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
        stream
    };
    // Two engines: free statements take one of them at most.
    let first = ask();
    wait_for("the statement to begin", || busy(&served) == "fenxi_engines_busy 1");
    let second = ask();
    wait_for("the next to wait", || served.get("/metrics").text().contains("\nfenxi_queue 1\n"));
    let refused = sql(&served, "SELECT 1", "");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("2")));
    drop(second);
    wait_for("it to be forgotten", || served.get("/metrics").text().contains("\nfenxi_queue 0\n"));
    assert_eq!(served.get("/api/v1/about").status, 200);
    drop(first);
    wait_for("the statement to end", || busy(&served) == "fenxi_engines_busy 0");
}

/// Statements whose answers are few bytes as columns, and hundreds of MB, or no end of them, as text.
fn swelling() -> [String; 5] {
    let name = "k".repeat(3000);
    [
        format!("SELECT list_transform(range(200000), lambda x: {{'{name}': true}}) AS a"),
        format!(
            "SELECT CASE WHEN range % 2048 = 0 THEN list_transform(range(300000), lambda x: {{'{name}': true}}) END AS a FROM range(10240)"
        ),
        format!("SELECT map {{'{name}': range(100000)}} AS a FROM range(1000)"),
        "SELECT range(30000000) AS a".to_owned(),
        "SELECT repeat('\\x00', 20000000)::BLOB AS a FROM range(10)".to_owned(),
    ]
}

#[test]
fn an_answer_that_swells_as_text_is_refused_and_the_next_one_is_answered_at_once() {
    let served = serve_with(|s| s.limits.memory_bytes = 256 << 20);
    for statement in swelling() {
        for format in ["", "&format=csv"] {
            let refused = sql(&served, &statement, format);
            assert_eq!(refused.status, 400, "{format} {}", statement.chars().take(60).collect::<String>());
            let begun = Instant::now();
            assert_eq!(sql(&served, "SELECT 42 AS a", "").json()["rows"][0][0], 42);
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        }
        let encoded: String = statement.bytes().map(|b| format!("%{b:02x}")).collect();
        let panel = served.get(&format!("/api/v1/panel?chart=table&sql={encoded}"));
        assert!(panel.text().len() < 64 << 20, "{}", panel.text().len());
    }
}

#[test]
fn rows_and_memory_are_bounded() {
    let served = serve_with(|s| {
        s.limits.rows = 5;
        s.limits.memory_bytes = 128 << 20;
    });
    let cut = sql(&served, "SELECT range FROM range(100)", "&limit=50").json();
    assert_eq!((cut["rows"].as_array().unwrap().len(), &cut["cut"]), (5, &serde_json::json!(true)));
    let post = served.change("POST", "/api/v1/sql", r#"{"q":"SELECT range FROM range(100)","limit":3}"#).json();
    assert_eq!(post["rows"].as_array().unwrap().len(), 3);
    let much = sql(&served, "SELECT length(string_agg(repeat('x', 1000), '')) FROM range(10000000)", "");
    assert!([400, 408].contains(&much.status), "{}", much.text());
    // Sorting goes to disk, but not for ever: eight times the memory of its engine.
    let spilt =
        sql(&served, "SELECT x FROM (SELECT repeat(md5(range::VARCHAR), 40) AS x FROM range(3000000)) ORDER BY x", "");
    assert_eq!(spilt.status, 400, "{}", spilt.text());
    assert_eq!(sql(&served, "SELECT 1 AS a", "").status, 200);
}

#[test]
fn a_statement_reads_runs_and_nothing_else() {
    let served = serve();
    for statement in [
        "DROP TABLE cpu",
        "CREATE TABLE x AS SELECT 1",
        "COPY (SELECT 1) TO '/tmp/fenxi-must-not-be'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT getenv('HOME')",
        "ATTACH '/tmp/fenxi-must-not-be.db'",
        "INSTALL httpfs",
        "LOAD '/tmp/x.so'",
        "SET memory_limit='100GB'",
        "PRAGMA threads=99",
        "SELECT 1; DROP VIEW cpu",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/fenxi-must-not-be'",
    ] {
        let answer = sql(&served, statement, "");
        assert_eq!(answer.status, 400, "{statement}: {}", answer.text());
    }
    assert!(!std::path::Path::new("/tmp/fenxi-must-not-be").exists());
    let attack = sql(&served, "SELECT '</script><script>alert(1)</script>' AS \"<b>\"", "");
    assert_eq!((attack.header("content-type"), attack.status), (Some("application/json"), 200));
}

#[test]
fn what_is_nested_too_deep_and_what_the_engine_says_in_json_are_errors_in_words() {
    let served = serve();
    let deep = format!("SELECT {}1{} AS a", "[".repeat(120), "]".repeat(120));
    for statement in [deep.as_str(), "SELECT repeat('x', 2000000000) || repeat('y', 2000000000) AS a"] {
        let answer = sql(&served, statement, "");
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(!answer.text().contains("exception_type") && !answer.text().contains("malformed"), "{}", answer.text());
    }
    assert_eq!(sql(&served, "SELECT [[[42]]] AS a", "").status, 200);
}

#[test]
fn a_run_with_very_many_results_does_not_swell_the_list_of_runs() {
    let served = serve_with(|_| ());
    let mut begin = Begin::new("import", "h", Micros(1_763_719_200_000_000));
    begin.name = Some("many".to_owned());
    let mut open = served.store.begin(begin).unwrap();
    let mut rows = Rows::new("h");
    for n in 0..30_000 {
        let mut row = rows.row(&result::TABLE, None, None);
        row.str(result::name, format!("{n:06}{}", "n".repeat(100)).as_str()).f64(result::value, f64::from(n));
    }
    open.append(&mut rows).unwrap();
    open.seal(End::at(Micros(1_763_719_202_000_000))).unwrap();
    let listed = served.get("/api/v1/runs");
    assert!(listed.status == 200 && listed.body.len() < 100_000, "{}: {} bytes", listed.status, listed.body.len());
    assert_eq!(listed.json()["rows"][0]["results"].as_object().unwrap().len(), 200);
    assert!(listed.json()["warnings"][0].as_str().unwrap().contains("30000 results"), "{}", listed.json()["warnings"]);
    let offered = served.get("/api/v1/metrics");
    assert_eq!(offered.json()["results"].as_array().unwrap().len(), 10_000, "{}", offered.status);
    // Nor does looking for a name like the one that was meant.
    let begun = Instant::now();
    assert_eq!(served.get(&format!("/api/v1/trend?metric={}", "m".repeat(100))).status, 404);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// A run with so many disks.
fn wide(store: &Store, name: &str, disks: usize) {
    let mut begin = Begin::new("record", "h", Micros(1_763_719_200_000_000));
    begin.name = Some(name.to_owned());
    let mut open = store.begin(begin).unwrap();
    let mut rows = Rows::new("h");
    for n in 0..disks {
        let t = Micros(1_763_719_201_000_000);
        let mut row = rows.row(&disk::TABLE, t, 1.0);
        row.str(disk::device, format!("sd{n}").as_str());
        for column in [disk::reads_per_s, disk::writes_per_s, disk::await_ms, disk::util] {
            row.f64(column, n as f64);
        }
    }
    open.append(&mut rows).unwrap();
    open.seal(End::at(Micros(1_763_719_202_000_000))).unwrap();
}

#[test]
fn statistics_of_runs_take_no_more_memory_than_an_answer_may() {
    let served = serve_with(|s| s.limits.memory_bytes = 1);
    for name in ["wide", "other"] {
        wide(&served.store, name, 10_000);
    }
    for name in ["narrow", "slim"] {
        wide(&served.store, name, 10);
    }
    assert_eq!(served.get("/api/v1/compare?a=narrow&b=slim&force=true").status, 200);
    for refused in ["compare?a=wide&b=other", "representative?run=wide&run=other", "explain?run=wide,other"] {
        let answer = served.get(&format!("/api/v1/{refused}"));
        assert_eq!(answer.status, 400, "{refused}: {}", answer.text());
        assert!(answer.text().contains("ask for fewer runs"), "{refused}: {}", answer.text());
    }
    assert_eq!(served.get("/api/v1/explain?run=narrow").status, 200);
}
