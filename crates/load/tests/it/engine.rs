//! Rates, latencies and errors against a server whose timing is known.
//!
//! Where the machine is too busy for the driver to be on time, the driver reports it: such a run is made again.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use fenxi_load::{
    engine::{Outcome, Plan, Settings, run},
    policy::{Action, Failure, Policy},
    schedule::{Arrival, Rate, Schedule},
    workload::Workload,
};
use fenxi_wire::{Dialect, Mode, client::Client};

use crate::stub::{Answer, Stub};

pub fn plan(stub: &Stub, steps: &str, schedule: Schedule) -> Plan {
    let text = format!("about = 'x'\n[[transaction]]\nname = 'x'\n{steps}");
    let target = stub.target();
    Plan {
        endpoint: target.endpoints().unwrap().remove(0),
        target,
        program: Arc::new(Workload::parse("test", &text).unwrap().compile(Dialect::Postgres).unwrap()),
        threads: 2,
        share: None,
        run: Settings {
            mode: Mode::Simple,
            schedule,
            connections: 16,
            pin: Vec::new(),
            warmup_s: 0.0,
            duration_s: 2.0,
            interval_s: 0.5,
            drain_s: 5.0,
            connects_per_s: None,
            seed: 1,
            policy: Policy::for_dialect(Dialect::Postgres),
        },
    }
}

/// `plan` with other settings.
pub fn with(mut plan: Plan, set: impl FnOnce(&mut Settings)) -> Plan {
    set(&mut plan.run);
    plan
}

pub const QUERY: &str = "[[transaction.step]]\nsql = 'SELECT :{uniform(1, 1000000)}'\n";

pub fn steady(per_s: f64, jitter: f64) -> Schedule {
    Schedule::Open { rate: Rate::constant(per_s), arrival: Arrival::Steady { jitter } }
}

pub fn go(plan: &Plan) -> Outcome {
    run(plan, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Makes runs until `check` holds, for a minute; its last complaint fails the test. Tests of times do not disturb each other.
pub fn eventually(mut check: impl FnMut() -> Result<(), String>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    while let Err(complaint) = check() {
        assert!(began.elapsed() < Duration::from_secs(60), "{complaint}");
    }
}

#[test]
fn a_stalled_server_shows_in_the_latencies_of_all_that_were_due_meanwhile() {
    // Half a second in four: 1/8 of the starts fall into it, and wait for 0 to 0.5 s.
    eventually(|| {
        let (from, to) = (Duration::from_millis(2000), Duration::from_millis(2500));
        let stub = Stub::start(move |t, _| Answer::NotBefore(if t >= from && t < to { to } else { t }));
        let outcome = go(&with(plan(&stub, QUERY, steady(500.0, 0.1)), |run| run.duration_s = 4.0));
        for (quantile, expected_ms) in [(0.95, 300.0), (0.99, 460.0)] {
            let latency_ms = outcome.total.tally.latency.value_at_quantile(quantile) as f64 / 1e6;
            if (latency_ms / expected_ms - 1.0).abs() > 0.05 {
                return Err(format!("{quantile}: {latency_ms} ms, {:?}", outcome.doubts()));
            }
        }
        // Service times do not show it: only the 16 connections' statements waited.
        let service_ms = outcome.total.tally.service.value_at_quantile(0.95) as f64 / 1e6;
        if service_ms < 50.0 { Ok(()) } else { Err(format!("service {service_ms} ms")) }
    });
}

#[test]
fn the_rate_is_met_within_half_a_percent() {
    for per_s in [100.0, 2000.0] {
        eventually(|| {
            let outcome = go(&plan(&Stub::quick(), QUERY, steady(per_s, 0.1)));
            let achieved = outcome.total.per_s(outcome.total.tally.transactions);
            assert_eq!(outcome.total.offered_per_s, Some(per_s));
            let good = (achieved / per_s - 1.0).abs() < 0.005;
            if good { Ok(()) } else { Err(format!("{achieved} of {per_s}: {:?}", outcome.doubts())) }
        });
    }
}

#[test]
fn gaps_at_the_server_vary_as_the_jitter_says() {
    eventually(|| {
        let stub = Stub::quick();
        let outcome = go(&plan(&stub, QUERY, steady(100.0, 0.5)));
        let seen = stub.seen();
        let gaps: Vec<f64> = seen.windows(2).map(|w| (w[1].0 - w[0].0).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let cv = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt() / mean;
        let expected = 0.5 * (2.0_f64 / 3.0).sqrt();
        if (cv - expected).abs() < 0.05 { Ok(()) } else { Err(format!("{cv} {expected} {:?}", outcome.doubts())) }
    });
}

#[test]
fn overload_is_survived_and_said() {
    // Two connections of 5 ms each do 400 per second at most.
    let stub = Stub::start(|t, _| Answer::NotBefore(t + Duration::from_millis(5)));
    let outcome =
        go(&with(plan(&stub, QUERY, steady(2000.0, 0.0)), |run| (run.connections, run.duration_s) = (2, 1.0)));
    assert!(outcome.total.per_s(outcome.total.tally.transactions) <= 400.0);
    assert!(outcome.unstarted > 1500, "{}", outcome.unstarted);
    assert!(outcome.doubts()[0].starts_with("overload"), "{:?}", outcome.doubts());
    // Transactions done at the end had waited for most of the second.
    assert!(outcome.total.tally.latency.max() > 500_000_000);
}

#[test]
fn a_closed_loop_keeps_every_connection_busy_and_the_warm_up_does_not_count() {
    let stub = Stub::start(|t, _| Answer::NotBefore(t + Duration::from_millis(10)));
    let plan = with(plan(&stub, QUERY, Schedule::Closed), |run| (run.warmup_s, run.duration_s) = (0.5, 1.0));
    let mut intervals = Vec::new();
    let outcome = run(&plan, &mut |interval| {
        intervals.push((interval.begin_s, interval.end_s, interval.warmup, interval.tally.running));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(intervals, [(0.0, 0.5, true, 16), (0.5, 1.0, false, 16), (1.0, 1.5, false, 16)]);
    let per_s = outcome.total.per_s(outcome.total.tally.transactions);
    assert!(per_s > 800.0 && per_s <= 1620.0, "{per_s}");
    assert_eq!((outcome.unfinished, outcome.total.offered_per_s), (0, None));
}

#[test]
fn the_same_transaction_is_tried_again_under_its_own_start() {
    // Every first attempt is refused: the same statement must come twice.
    let tried = Mutex::new(std::collections::BTreeSet::new());
    let stub = Stub::start(move |t, text| {
        let new = text != "ROLLBACK" && tried.lock().unwrap().insert(text.to_owned());
        if new { Answer::Refuse("40001") } else { Answer::NotBefore(t) }
    });
    let outcome = go(&with(plan(&stub, QUERY, steady(100.0, 0.0)), |run| run.duration_s = 0.5));
    let tally = &outcome.total.tally;
    assert_eq!(tally.errors[&Failure::Server(*b"40001", 0)].0, tally.retries);
    assert_eq!((tally.failed, tally.errors.len()), (0, 1));
    assert!(tally.retries >= 49 && tally.transactions >= 48, "{} {}", tally.retries, tally.transactions);
}

#[test]
fn a_policy_ignores_or_stops() {
    let refusing = || Stub::start(|_, _| Answer::Refuse("42P01"));
    let outcome = go(&with(plan(&refusing(), QUERY, steady(100.0, 0.0)), |run| run.duration_s = 0.5));
    assert!(outcome.total.tally.failed >= 48 && outcome.total.tally.transactions == 0 && outcome.stopped.is_none());
    let mut plan = plan(&refusing(), QUERY, steady(100.0, 0.0));
    plan.run.policy.add("42P01", Action::Stop).unwrap();
    assert_eq!(go(&plan).stopped.as_deref(), Some("refused (42P01)"));
}

#[test]
fn lost_connections_come_back_and_the_test_goes_on() {
    let stub = Stub::start(|t, text| if text.ends_with('7') { Answer::Close } else { Answer::NotBefore(t) });
    let outcome = go(&plan(&stub, QUERY, steady(200.0, 0.0)));
    let tally = &outcome.total.tally;
    let lost = tally.errors[&Failure::Lost].0;
    // One of ten statements ends with a 7.
    assert!((20..=60).contains(&lost) && tally.failed == lost, "{lost} {}", tally.failed);
    assert!(tally.reconnects + 20 >= lost && tally.transactions > 300, "{tally:?}");
}

#[test]
fn a_server_that_is_not_there_is_counted_and_not_hammered() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stub = Stub::quick();
    let mut plan = plan(&stub, QUERY, Schedule::Closed);
    plan.endpoint = fenxi_wire::target::Endpoint::Tcp(listener.local_addr().unwrap());
    drop(listener);
    let outcome = go(&with(plan, |run| run.duration_s = 1.0));
    let (count, example) = &outcome.total.tally.errors[&Failure::Connect];
    assert!((16..=16 * 12).contains(count) && example.contains("refused"), "{count} {example}");
}

#[test]
fn thinking_and_reconnecting_are_part_of_a_transaction() {
    let stub = Stub::quick();
    let steps = format!("reconnect_pct = '100'\n{QUERY}[[transaction.step]]\nthink_us = '20_000'\n");
    let outcome = go(&with(plan(&stub, &steps, Schedule::Closed), |run| (run.connections, run.duration_s) = (4, 1.0)));
    let tally = &outcome.total.tally;
    assert!(tally.latency.min() >= 19_900_000, "{}", tally.latency.min());
    assert!(tally.reconnects + 4 >= tally.transactions && tally.transactions > 20 && tally.errors.is_empty());
}

#[test]
fn a_client_that_is_refused_says_by_whom() {
    let stub = Stub::start(|_, _| Answer::Refuse("42P01"));
    let mut client = Client::connect(&stub.target(), Duration::from_secs(5)).unwrap();
    let error = client.run("SELECT 1").unwrap_err();
    assert_eq!(error.to_string(), "SELECT 1: refused (42P01)");
    assert_eq!(error.server().unwrap().sqlstate(), "42P01");
}
