//! Values as they come: of this machine, and of a run that is being recorded.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

use fenxi_model::Rows;
use serde_json::Value;

use crate::{
    changes::{begin, tick},
    support::{Served, serve, serve_with, wait_for},
};

/// An open stream of events.
pub struct Events(BufReader<TcpStream>);

impl Events {
    pub fn open(served: &Served, target: &str) -> Events {
        Events::open_as(served, target, "X-Nothing: 1")
    }

    pub fn open_as(served: &Served, target: &str, header: &str) -> Events {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // Of HTTP/1.0, as chunks would cut long lines.
        write!(stream, "GET {target} HTTP/1.0\r\nHost: {}\r\n{header}\r\n\r\n", served.address).unwrap();
        Events(BufReader::new(stream))
    }

    fn line(&mut self, begins: &str) -> String {
        let mut line = String::new();
        while self.0.read_line(&mut line).unwrap() > 0 {
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("the stream ended before {begins}");
    }

    /// Name and data of the next event.
    pub fn next(&mut self) -> (String, Value) {
        let name = self.line("event: ");
        (name, serde_json::from_str(&self.line("data: ")).unwrap())
    }
}

fn listeners(served: &Served) -> String {
    served.get("/metrics").text().lines().find(|l| l.starts_with("fenxi_live_listeners ")).unwrap().to_owned()
}

#[test]
fn all_listeners_share_one_sampler_and_who_comes_later_sees_what_was_before() {
    let mut served = serve();
    let mut first = Events::open(&served, "/api/v1/live");
    let mut second = Events::open(&served, "/api/v1/live");
    let (name, tick) = first.next();
    assert_eq!(name, "tick");
    assert_eq!(second.next().1, tick);
    let idle = tick["values"]["cpu.idle"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&idle), "{tick}");
    assert!(tick["values"]["mem.available_bytes"].as_f64().unwrap() > 1e6);
    assert!(tick["values"]["cpu.idle[0]"].is_number());
    assert_eq!(listeners(&served), "fenxi_live_listeners 2");
    drop((first, second));
    wait_for("listeners to be gone", || listeners(&served) == "fenxi_live_listeners 0");
    // One that comes later is given the past first, and the end of the server ends the stream.
    let mut third = Events::open(&served, "/api/v1/live");
    assert_eq!(third.next(), ("tick".to_owned(), tick));
    let begun = std::time::Instant::now();
    served.end();
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_source_is_watched_by_its_name() {
    let served = serve();
    let mut events = Events::open(&served, "/api/v1/live?source=process");
    // Processes are known between two samples.
    let mut names = Vec::new();
    for _ in 0..5 {
        let (name, tick) = events.next();
        assert_eq!(name, "tick");
        names = tick["values"].as_object().unwrap().keys().cloned().collect();
        if names.iter().any(|name| name.starts_with("process.rss_bytes[")) {
            break;
        }
    }
    assert!(names.iter().any(|name| name.starts_with("process.rss_bytes[")), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("process.")), "{names:?}");
    assert_eq!(served.get("/api/v1/live?source=nothing").status, 404);
    let refused = served.get("/api/v1/live?source=facts");
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("`facts` is read only at the start and the end"), "{}", refused.text());
    let status = served.get("/api/v1/status").json();
    let sources: Vec<&Value> = status["sources"].as_array().unwrap().iter().collect();
    let of = |name: &str| sources.iter().find(|source| source["name"] == name);
    assert_eq!(
        (of("cpu").unwrap()["live"].as_bool(), of("process").unwrap()["live"].as_bool()),
        (Some(true), Some(false))
    );
    assert!(of("runqlat").is_some() && of("facts").is_none());
}

#[test]
fn a_read_only_server_puts_no_programs_into_the_kernel() {
    let served = serve_with(|s| s.read_only = true);
    let refused = served.get("/api/v1/live?source=runqlat");
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("which a read-only server does not do"), "{}", refused.text());
    let status = served.get("/api/v1/status").json();
    assert!(!status["sources"].as_array().unwrap().iter().any(|source| source["name"] == "runqlat"));
}

#[test]
fn this_machine_is_shown_with_what_its_recording_saw_and_another_one_is_not() {
    let served = serve();
    let (mut rows, mut recordings) = (Rows::new("here"), Vec::new());
    for (host, random) in [("elsewhere", 1), ("here", 2)] {
        let mut open = served.store.begin(fenxi_store::Begin { host: host.to_owned(), ..begin(host, random) }).unwrap();
        for i in 1..=4 {
            tick(i * i64::try_from(random).unwrap(), &mut rows);
            open.append(&mut rows).unwrap();
        }
        // It goes on as long as the test.
        recordings.push(open);
    }
    let mut events = Events::open(&served, "/api/v1/live");
    let seen: Vec<Value> = (0..4).map(|_| events.next().1).collect();
    let usr: Vec<Option<f64>> = seen.iter().map(|tick| tick["values"]["cpu.usr[0]"].as_f64()).collect();
    // The latest tick may not be whole: the sampler's own come instead.
    assert_eq!(usr[..3], [Some(4.0), Some(8.0), Some(12.0)]);
    assert_ne!(usr[3], Some(16.0));
    assert!(seen.windows(2).all(|pair| pair[0]["t_ms"].as_f64() < pair[1]["t_ms"].as_f64()));
    // A chosen source has no past.
    assert!(Events::open(&served, "/api/v1/live?source=process").next().1["values"]["cpu.usr[0]"].is_null());
}

#[test]
fn a_recording_is_followed_from_its_begin_to_its_end() {
    let served = serve();
    let mut open = served.store.begin(begin("now", 1)).unwrap();
    let id = open.id().to_string();
    let mut rows = Rows::new("h1");
    for i in 1..=3 {
        tick(i, &mut rows);
        open.append(&mut rows).unwrap();
    }
    assert_eq!(served.store.recordings().unwrap()[0].id.as_str(), id);
    let status = served.get("/api/v1/status").json();
    assert_eq!((&status["machine"], &status["recordings"][0]["name"]), (&"here".into(), &"now".into()));
    assert_eq!(status["recordings"][0]["tables"], serde_json::json!(["cpu"]));
    let mut events = Events::open(&served, &format!("/api/v1/live?run={id}"));
    let mut seen = vec![events.next(), events.next()];
    for i in 4..=5 {
        tick(i, &mut rows);
        open.append(&mut rows).unwrap();
    }
    seen.extend([events.next(), events.next()]);
    open.discard().unwrap();
    seen.extend([events.next(), events.next()]);
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tick", "tick", "tick", "tick", "tick", "end"]);
    let values: Vec<f64> = seen[..5].iter().map(|(_, tick)| tick["values"]["cpu.usr[0]"].as_f64().unwrap()).collect();
    assert_eq!(values, [2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(seen[5].1["run"], id.as_str());
    assert_eq!(served.get("/api/v1/live?run=nothing").status, 404);
}
