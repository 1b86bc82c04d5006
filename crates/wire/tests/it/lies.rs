//! A client with limits against servers that lie, in both protocols, during the login and in answers.

use std::time::{Duration, Instant};

use fenxi_wire::{
    client::Client,
    target::{Surroundings, Target},
};

use crate::liar::{LIES, Lie, Speaks, When, liar};

const LIMIT: Duration = Duration::from_millis(700);

/// The result of a client that logs in and queries, and how long it takes.
fn asked(url: &str) -> (Option<String>, Duration) {
    let target = Target::parse(url, &Surroundings::default()).unwrap();
    let began = Instant::now();
    let asked = Client::connect(&target, LIMIT).and_then(|mut client| {
        client.set_limit(LIMIT);
        client.set_most_rows(1000);
        client.set_most_bytes(1 << 20);
        client.rows("SELECT 1")
    });
    (asked.err().map(|error| error.to_string()), began.elapsed())
}

#[test]
fn a_liar_is_an_error_in_time() {
    for speaks in [Speaks::Postgres, Speaks::Mysql] {
        for when in [When::Login, When::Answer] {
            for lie in LIES {
                let (error, took) = asked(&liar(speaks, when, lie));
                // To cancel a statement takes a login more.
                assert!(took < 3 * LIMIT + Duration::from_secs(2), "{speaks:?} {when:?} {lie:?}: {took:?}");
                let error = error.unwrap_or_else(|| panic!("{speaks:?} {when:?} {lie:?} was believed"));
                assert!(!error.contains("secret"), "{error}");
                if matches!(lie, Lie::Drip | Lie::Slow | Lie::Silent) {
                    assert!(error.contains("no answer in"), "{speaks:?} {when:?} {lie:?}: {error}");
                }
            }
        }
    }
}
