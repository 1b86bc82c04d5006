//! Databases as they work: those that were named when the server was started, and no others.

use fenxi_db::{Databases, Rate, Server as Watched};

use crate::{
    database::{Server, skipped},
    live::Events,
    support::{serve, serve_with},
};

#[test]
fn a_database_that_was_not_named_is_not_watched() {
    let served = serve();
    let refused = served.get("/api/v1/live?source=db");
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("fenxi serve --db URL"), "{}", refused.text());
    let refused = served.get("/api/v1/live?source=postgres://root:geheim@127.0.0.1/");
    assert_eq!(refused.status, 404);
    assert!(!served.get("/api/v1/status").text().contains("\"db\""));
}

#[test]
fn a_named_database_shows_who_waits_for_whom() {
    let Some(server) = Server::postgres() else {
        return skipped("PostgreSQL", "it is not installed");
    };
    let mut root = server.client("postgres");
    root.run("CREATE TABLE item (id INT PRIMARY KEY, stock INT); INSERT INTO item VALUES (1, 0)").unwrap();
    root.run("BEGIN").unwrap();
    root.run("UPDATE item SET stock = 1 WHERE id = 1").unwrap();
    let mut waiter = server.client("postgres");
    // Ends with the test: the server stops first.
    std::thread::spawn(move || waiter.run("UPDATE item SET stock = 4711 WHERE id = 1").map(drop));
    let target = server.target("postgres");
    let source = Databases::source(vec![Watched::new(&target)], Rate::default());
    let served = serve_with(|settings| settings.databases = Some(source));
    assert!(served.get("/api/v1/status").text().contains("\"db\""));
    let mut events = Events::open(&served, "/api/v1/live?source=db");
    let reading = loop {
        let (name, told) = events.next();
        let reading = &told[0]["reading"];
        if name == "database" && reading["locks"].as_array().is_some_and(|locks| !locks.is_empty()) {
            break reading.clone();
        }
    };
    assert_eq!(reading["vendor"], "PostgreSQL");
    let locks = reading["locks"].as_array().unwrap();
    assert_eq!(locks.len(), 1, "{locks:?}");
    assert_eq!(locks[0]["blocker_state"], "idle in transaction");
    let lock = &reading["classes"]["lock"];
    assert!((0.5..=1.01).contains(&lock.as_f64().unwrap()), "{lock}");
    let text = reading["texts"][locks[0]["statement"].as_str().unwrap()].as_str().unwrap();
    assert!(text.contains("update item") && !text.contains("4711"), "{text}");
    assert!(reading["figures"]["transactions_per_s"].is_number(), "{reading}");
}
