//! Sentence, split, findings and the table of parts say the same of a run, whatever takes its time.

use fenxi_compare::{Diagnosis, Explained, Split, percent, time_parts};
use fenxi_query::{Case, DB_TIME, Engine, Finding, Found, Kind, LATENCY, Options, QUEUE, SERVICE, Scope};

use crate::runs::Runs;

/// 8 connections of 52 ms, 45 of them for the commit, at a rate that they just reach.
const COMMITS: &str = "\
load generator=fenxi clients=8 offered_per_s=150 transactions_per_s=150 requests_per_s=150 latency_mean_ms=699 queue_length=97 *30
db server=here samples=10 round_trip_ms=0.1 *30
db_wait server=here activity=commit wait_event=WALSync kind=client measured=sampled time=6.75 *30
db_wait server=here activity=cpu wait_event=cpu kind=client measured=sampled time=1 *30";

/// As many connections of 3 ms that wait for nothing, for more than they can do.
const FEW: &str = "\
load generator=fenxi clients=8 offered_per_s=3300 transactions_per_s=3000 requests_per_s=3000 latency_mean_ms=40 queue_length=112 *30
db server=here samples=10 round_trip_ms=0.05 *30
db_wait server=here activity=cpu wait_event=cpu kind=client measured=sampled time=2 *30";

/// One row that all want, on a machine whose CPUs another program takes, without a latency.
const ROW_LOCK: &str = "\
sched cpus_online=2 *60
pressure resource=cpu some=100 *60
process pid=7 comm=gzip cpu=150 *60
process pid=9 comm=postgres cpu=50 run_queue_wait=100 *60
db server=here samples=10 *60
db_wait server=here activity=lock wait_class=Lock wait_event=tuple kind=client measured=sampled time=4 *60
db_wait server=here activity=commit wait_event=WALSync kind=client measured=sampled time=2.2 *60
db_wait server=here activity=cpu wait_event=cpu kind=client measured=os time=0.7 *60
db_wait server=here activity=\"run queue\" wait_event=\"run queue\" kind=client measured=os time=1.5 *60";

/// Three round trips of 20 ms in a transaction of 75 ms.
const FAR: &str = "\
load generator=fenxi clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *30
db server=far samples=10 round_trip_ms=20 *30
db_wait server=far activity=cpu wait_event=cpu kind=client measured=sampled time=0.2 *30";

/// The same in an open loop, where four fifths of the latency are over before a transaction has a connection.
const FAR_AND_QUEUED: &str = "\
load generator=fenxi clients=8 offered_per_s=100 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 queue_length=6 *30
db server=far samples=10 round_trip_ms=5 *30
db_wait server=far activity=cpu wait_event=cpu kind=client measured=sampled time=0.2 *30";

/// A disk that somebody else fills: of the waits for it some are for commits, some for reads.
const DISK: &str = "\
sched cpus_online=2 *30
load generator=fenxi clients=8 transactions_per_s=100 latency_mean_ms=80 *30
db server=here samples=10 *30
db_wait server=here activity=commit wait_event=WALSync kind=client measured=sampled time=2.5 *30
db_wait server=here activity=\"user io\" wait_event=DataFileRead kind=client measured=sampled time=1.5 *30
db_session server=here session=1 pid=9 kind=client activity=commit state=active dt=0.1 *300
process pid=9 comm=postgres cpu=10 run_queue_wait=1 write_bytes_per_s=1000000 *30
process pid=7 comm=dd cpu=10 write_bytes_per_s=200000000 *30";

/// The rows as a finding's header has them.
fn case(rows: &str) -> Case {
    let rows: String = rows.lines().map(|line| format!("-- yes: {line}\n")).collect();
    let head = "-- title: X\n-- severity: info\n-- section: cpu\n-- message: {run}.\n";
    Finding::parse("x", &format!("{head}{rows}SELECT run FROM runs")).unwrap().cases.remove(0)
}

/// A run, its findings, and where its time went.
struct Seen {
    runs: Runs,
    diagnosis: Diagnosis,
    explained: Explained,
}

fn seen(rows: &str) -> Seen {
    let case = case(rows);
    let mut runs = Runs::new();
    runs.add("r", 60.0, |run| _ = case.fill(&mut run.rows, run.begin.start));
    let engine = runs.engine();
    let run = engine.store().select_one("r").unwrap();
    let diagnosis = Diagnosis::of(&engine, &Scope::of([run])).unwrap();
    let explained = Explained::of(&engine, ["r"], "auto").unwrap();
    let seen = Seen { runs, diagnosis, explained };
    seen.agree();
    seen
}

impl Seen {
    fn found(&self, name: &str) -> Option<&Found> {
        self.diagnosis.found.iter().find(|found| found.finding.name == name)
    }

    fn first(&self) -> (&str, f64, String) {
        let first = &self.diagnosis.found[0];
        let impact = first.impact().unwrap();
        (&first.finding.name, (100.0 * impact.share).round(), impact.of)
    }

    fn split(&self) -> &Split {
        self.explained.ranking().unwrap()
    }

    fn share(&self, part: &str) -> f64 {
        self.split().parts.iter().find(|p| p.name == part).map_or(0.0, |p| p.shares[0].unwrap())
    }

    /// Checks that hold for every run.
    fn agree(&self) {
        let split = self.split();
        let sum: f64 = split.parts.iter().filter_map(|part| part.shares[0]).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{split:#?}");
        assert!(split.parts.iter().all(|part| (-0.02..=1.0).contains(&part.shares[0].unwrap())), "{split:#?}");
        let queue = self.share(QUEUE);
        let mut least = f64::INFINITY;
        for found in &self.diagnosis.found {
            let name = &found.finding.name;
            assert!(found.outcome.is_ok(), "{name}: {:?}", found.outcome);
            let Some(part) = &found.of_part else { continue };
            // The share is the split's, of the whole that is named.
            let of = if part.of == SERVICE { 1.0 - queue } else { 1.0 };
            let largest = found.finding.parts.iter().map(|name| self.share(name)).fold(0.0, f64::max);
            let is_right = part.share <= 1.0 && part.share * of >= largest - 1e-9;
            assert!(is_right, "{name}: {part:?}, its largest part {largest} of {queue} before");
            assert!(found.finding.min_part.is_none_or(|least| part.share >= least), "{name}: {part:?}");
            // Problems with a larger known share are listed before those with a smaller one.
            if found.kind() == Kind::Problem {
                assert!(part.share <= least + 1e-9, "{name} comes after less: {:#?}", self.diagnosis.found);
                least = part.share;
            }
        }
        let answer = &self.diagnosis.answer;
        if let Some(found) = answer.finding.as_deref().and_then(|name| self.found(name)) {
            let impact = found.impact().map(|i| format!("{}: {} of {}", found.finding.title, percent(i.share), i.of));
            assert!(answer.text.starts_with(&impact.unwrap_or_else(|| found.finding.title.clone())), "{answer:?}");
        }
        self.table_agrees();
    }

    /// SQL reads the same parts.
    fn table_agrees(&self) {
        let options = Options { threads: Some(1), time_parts: Some(time_parts), ..Options::default() };
        let engine = Engine::open(&self.runs.store, &options).unwrap();
        let sql = format!("SELECT part, share FROM time_part WHERE what = '{}'", self.split().what);
        let answer = engine.query(&sql, &Scope::all()).unwrap();
        let told: Vec<(String, f64)> =
            answer.strings("part").into_iter().flatten().zip(answer.f64s("share").into_iter().flatten()).collect();
        let known: Vec<(String, f64)> =
            self.split().parts.iter().map(|p| (p.name.to_owned(), 100.0 * p.shares[0].unwrap())).collect();
        let is_same = |(a, b): (&(String, f64), &(String, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9;
        assert!(told.len() == known.len() && told.iter().zip(&known).all(is_same), "{told:?} {known:?}");
    }
}

#[test]
fn what_makes_the_service_long_comes_before_the_queue_that_follows_from_it() {
    let seen = seen(COMMITS);
    assert_eq!(seen.first(), ("db-commit-wait", 86.0, SERVICE.to_owned()));
    let answer = &seen.diagnosis.answer;
    assert_eq!(answer.text, "Commits wait for the log: 86% of the service time of a transaction.");
    assert!(answer.detail.contains("Waiting for a connection, 93% of the latency, follows from"), "{answer:?}");
    let queue = seen.found("connections-few").unwrap();
    assert_eq!(
        (queue.kind(), queue.follows_from.clone()),
        (Kind::Symptom, vec!["Commits wait for the log".to_owned()])
    );
    let message = &queue.outcome.as_ref().unwrap()[0].message;
    assert!(message.starts_with("8 connections of 53.3 ms serve 150/s, 150/s are offered: 97 "), "{message}");
    assert!(seen.found("network-latency").is_none());
}

#[test]
fn too_few_connections_are_the_cause_where_nothing_in_the_service_waits() {
    let seen = seen(FEW);
    assert_eq!(seen.first(), ("connections-few", 93.0, LATENCY.to_owned()));
    assert_eq!(seen.diagnosis.answer.finding.as_deref(), Some("connections-few"));
}

#[test]
fn a_share_of_the_clock_is_no_share_of_what_sessions_spend() {
    let seen = seen(ROW_LOCK);
    assert_eq!(seen.first(), ("db-lock-waits", 48.0, DB_TIME.to_owned()));
    assert_eq!(seen.diagnosis.answer.text, "Database sessions wait for locks: 48% of the DB time.");
    let neighbour = seen.found("cpu-neighbour").unwrap().impact().unwrap();
    assert_eq!(((100.0 * neighbour.share).round(), neighbour.of.as_str()), (18.0, DB_TIME));
}

#[test]
fn network_latency_is_found_only_where_round_trips_hold_the_time() {
    let far = seen(FAR);
    assert_eq!(far.first(), ("network-latency", 80.0, LATENCY.to_owned()));
    let message = &far.diagnosis.found[0].outcome.as_ref().unwrap()[0].message;
    assert_eq!(message, "A round trip to far takes 20.0 ms at least, and a transaction of 75.0 ms makes 3 of them.");
    // Three round trips are all of the service, and the queue has the time.
    let queued = seen(FAR_AND_QUEUED);
    assert!(queued.found("network-latency").is_none(), "{:#?}", queued.diagnosis.found);
    assert!(queued.share("round trips") <= 0.2 && queued.share(QUEUE) >= 0.79, "{:#?}", queued.split());
}

#[test]
fn a_part_that_two_names_hold_is_counted_once() {
    let seen = seen(DISK);
    let neighbour = seen.found("disk-neighbour").unwrap().impact().unwrap();
    // 2.5 and 1.5 of 8 sessions; both are block I/O as well.
    assert_eq!(((100.0 * neighbour.share).round(), neighbour.of.as_str()), (50.0, LATENCY));
}

#[test]
fn the_queue_of_findings_is_the_part_of_the_split() {
    assert_eq!(QUEUE, fenxi_analyze::kind_name::CONNECTION);
}
