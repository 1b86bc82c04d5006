//! Connections that are cut at any byte or fall silent, servers that forget: an answer is whole or an error.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    all, ask, open,
    proxy::{Fate, Proxy},
    server::{Manner, ROWS, Server},
};
use crate::connect::{ConnectError, Session};

/// How many answers came and how many errors.
#[derive(Debug, Default)]
struct Told {
    right: u32,
    errors: u32,
}

/// Asks over connections with these fates; anything but the whole answer or a clear error is a failure of the test.
fn told(proxy: &Proxy, next: &[Fate], always: Fate, told: &mut Told) {
    proxy.fates(next, always);
    match open(proxy.port).and_then(|mut session| ask(&mut session, |_| {})) {
        Ok(values) => {
            assert_eq!(values, all(), "{next:?} {always:?}");
            told.right += 1;
        }
        Err(error @ (ConnectError::Unreachable { .. } | ConnectError::BrokenOff { .. })) => {
            assert!(error.to_string().contains("the cluster"), "{error}");
            told.errors += 1;
        }
        Err(error) => panic!("{next:?} {always:?}: {error:?}"),
    }
}

#[test]
fn a_connection_that_is_cut_at_any_byte_costs_nothing_once_the_session_stands() {
    let server = Server::start(Manner::default(), None);
    let proxy = Proxy::new(server.port);
    // Bytes that it takes to begin, and all of them.
    let session = open(proxy.port).unwrap();
    let begun = proxy.bytes();
    drop(session);
    let proxy = Proxy::new(server.port);
    let mut session = open(proxy.port).unwrap();
    assert_eq!(ask(&mut session, |_| {}).unwrap(), all());
    let whole = proxy.bytes();
    let mut beginning = Told::default();
    for n in (0..begun.0).step_by(23) {
        told(&proxy, &[Fate::Cut(n)], Fate::Whole, &mut beginning);
    }
    for n in (0..begun.1).step_by(23) {
        told(&proxy, &[Fate::CutUp(n)], Fate::Whole, &mut beginning);
    }
    assert!(beginning.right > 0 && beginning.errors > 0, "{beginning:?}");
    let mut later = Told::default();
    for n in (begun.0 + 60..whole.0).step_by(11) {
        told(&proxy, &[Fate::Cut(n)], Fate::Whole, &mut later);
    }
    for n in (begun.1 + 60..whole.1).step_by(5) {
        told(&proxy, &[Fate::CutUp(n)], Fate::Whole, &mut later);
    }
    assert!(later.right > 100 && later.errors == 0, "{later:?} {begun:?} {whole:?}");
}

#[test]
fn connections_that_all_break_bring_the_answer_or_an_error() {
    let server = Server::start(Manner::default(), None);
    let proxy = Proxy::new(server.port);
    let mut outcomes = Told::default();
    let whole = {
        let mut session = open(proxy.port).unwrap();
        ask(&mut session, |_| {}).unwrap();
        proxy.bytes().0
    };
    for n in (0..whole).step_by(431) {
        told(&proxy, &[], Fate::Cut(n), &mut outcomes);
        told(&proxy, &[Fate::Whole], Fate::Cut(n), &mut outcomes);
    }
    assert!(outcomes.right > 0 && outcomes.errors > 0, "{outcomes:?}");
}

#[test]
fn a_connection_that_falls_silent_is_made_again() {
    let server = Server::start(Manner::default(), None);
    let proxy = Proxy::new(server.port);
    let begun = {
        let _session = open(proxy.port).unwrap();
        proxy.bytes().0
    };
    for more in [10, 300, 1500] {
        proxy.fates(&[Fate::Silent(begun + more)], Fate::Whole);
        let mut session = open(proxy.port).unwrap();
        let began = Instant::now();
        assert_eq!(ask(&mut session, |_| {}).unwrap(), all(), "{more}");
        assert!(began.elapsed() < Duration::from_secs(10), "{more}: {:?}", began.elapsed());
    }
    // A plan that is asked for, too.
    proxy.fates(&[Fate::Silent(begun)], Fate::Whole);
    let mut session = open(proxy.port).unwrap();
    assert!(session.explain(&super::Plan::default()).unwrap().contains("Physical Plan"));
}

#[test]
fn a_server_that_only_takes_long_is_waited_for() {
    let server = Server::start(Manner { pauses_after: Some(2), ..Manner::default() }, None);
    let mut session = open(server.port).unwrap();
    let stop = session.stop();
    let waits = thread::spawn(move || {
        thread::sleep(Duration::from_secs(2));
        stop.stop();
    });
    let mut rows = 0;
    let outcome = ask(&mut session, |values| rows = values.len());
    waits.join().unwrap();
    assert!(matches!(outcome, Err(ConnectError::Stopped)), "{outcome:?}");
    assert_eq!(rows as u64, 2 * ROWS);
    let calls = server.calls();
    let count = |method: &str| calls.iter().filter(|call| *call == method).count();
    // It was asked for signs of life, and never for the answer again; then the statement was stopped there.
    assert!(count("Config") > 2 && count("ExecutePlan") == 2 && count("ReattachExecute") == 0, "{calls:?}");
    assert_eq!(calls.last_chunk(), Some(&["Interrupt".to_owned(), "ReleaseExecute".to_owned()]));
}

#[test]
fn a_server_that_was_restarted_answers_the_next_statement() {
    let server = Server::start(Manner::default(), None);
    let proxy = Proxy::new(server.port);
    let mut session = open(proxy.port).unwrap();
    for is_cut in [true, false] {
        assert_eq!(ask(&mut session, |_| {}).unwrap(), all());
        server.restart();
        if is_cut {
            proxy.cut();
        }
        assert!(session.explain(&super::Plan::default()).unwrap().contains("Physical Plan"));
        server.restart();
    }
}

#[test]
fn an_answer_of_a_server_that_forgot_it_is_never_completed_by_another() {
    let server = Server::start(Manner { pauses_after: Some(2), ..Manner::default() }, None);
    let proxy = Proxy::new(server.port);
    let mut session = open(proxy.port).unwrap();
    let outcome = ask(&mut session, |values| {
        if values.len() as u64 == 2 * ROWS {
            server.restart();
            proxy.cut();
        }
    });
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("broke off after 40 rows") && error.contains("does not know the statement"), "{error}");
}

#[test]
fn an_answer_is_not_complete_before_the_server_says_so() {
    for (manner, rows) in [
        (Manner { never_complete: true, ..Manner::default() }, 100),
        // Where the position is unknown, it cannot be taken up.
        (Manner { never_complete: true, no_numbers: true, ..Manner::default() }, 100),
        (Manner { pauses_after: Some(2), no_numbers: true, ..Manner::default() }, 40),
    ] {
        let server = Server::start(manner, None);
        let proxy = Proxy::new(server.port);
        let mut session = open(proxy.port).unwrap();
        let mut most = 0;
        let error = ask(&mut session, |values| {
            most = values.len();
            if manner.pauses_after.is_some() && most as u64 == 2 * ROWS {
                proxy.cut();
            }
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("broke off after {rows} rows")), "{manner:?}: {error}");
        assert!(most <= 100, "{manner:?}: rows came twice");
    }
}

#[test]
fn a_server_that_has_gone_is_an_error_and_a_session_can_be_dropped_anywhere() {
    let server = Server::start(Manner::default(), None);
    let proxy = Proxy::new(server.port);
    let mut session = open(proxy.port).unwrap();
    drop(server);
    proxy.cut();
    let error = ask(&mut session, |_| {}).unwrap_err().to_string();
    assert!(error.contains("cannot be reached"), "{error}");
    let port = proxy.port;
    drop(proxy);
    let error = open(port).map(drop).unwrap_err().to_string();
    assert!(error.contains("cannot be reached"), "{error}");
    // Also by who works for another runtime.
    let server = Server::start(Manner::default(), None);
    let session: Session = open(server.port).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { drop(session) });
    assert_eq!(server.calls().last().map(String::as_str), Some("ReleaseSession"));
}
