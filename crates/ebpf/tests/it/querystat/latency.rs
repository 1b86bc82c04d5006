//! The distribution of times inside the server is that of the client's own clock, less the way there and back.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fenxi_model::{Rows, catalog::histogram as h};
use fenxi_wire::client::Client;

use super::{first_on_its_cpu, of, send, thread_of, wait_for_the_last};
use crate::{observed::Observed, server::Server};

/// Queries that are sent: of each twenty one sleeps 20 ms, two 5 ms, four 1 ms, and the others are quick.
const SENT: u64 = 2000;

/// Milliseconds that query `number` sleeps.
fn sleeps_ms(number: u64) -> u64 {
    match number % 20 {
        3 => 20,
        7 | 13 => 5,
        1 | 6 | 11 | 16 => 1,
        _ => 0,
    }
}

fn sql(server: &Server, number: u64) -> String {
    let seconds = sleeps_ms(number) as f64 / 1e3;
    match (server.scheme, sleeps_ms(number)) {
        (_, 0) => format!("SELECT {number}"),
        ("mysql", _) => format!("SELECT sleep({seconds})"),
        _ => format!("SELECT pg_sleep({seconds})"),
    }
}

/// The times that a share of `sorted` is within, in microseconds.
fn within(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// How long the way there and back takes when there is nothing to do, 99 of 100 times, in microseconds. The client waits
/// before each, so that both sides have to be woken as after a sleep.
fn round_trip(client: &mut Client) -> f64 {
    let mut took: Vec<f64> = (0..500)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            let began = Instant::now();
            // Nothing to execute; MariaDB answers with an error.
            let _ = client.run("");
            began.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    took.sort_by(f64::total_cmp);
    within(&took, 0.99)
}

/// Times that were seen inside the server, by bucket: from, up to (microseconds), how many.
struct Inside(Vec<(f64, f64, f64)>);

impl Inside {
    fn of(rows: &Rows) -> Inside {
        let mut counts: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        if let Some(rows) = rows.of(&h::TABLE) {
            for row in (0..rows.n_rows()).filter(|row| rows.str(*row, h::name) == Some("query latency")) {
                let value = |place| rows.f64(row, place).unwrap();
                // Whole nanoseconds.
                let bucket = counts.entry((value(h::lo) * 1e3).round() as u64).or_insert((value(h::hi), 0.0));
                bucket.1 += value(h::count);
            }
        }
        Inside(counts.into_iter().map(|(low, (high, count))| (low as f64 / 1e3, high, count)).collect())
    }

    fn all(&self) -> f64 {
        self.0.iter().map(|(_, _, count)| count).sum()
    }

    /// How many took less than `bound`, which is a bucket's.
    fn below(&self, bound: f64) -> f64 {
        self.0.iter().filter(|(_, high, _)| *high <= bound * (1.0 + 1e-9)).map(|(_, _, count)| count).sum()
    }

    /// The bucket of the time that a share is within.
    fn within(&self, share: f64) -> (f64, f64) {
        let (mut left, mut found) = ((self.all() * share).ceil(), (0.0, 0.0));
        for (low, high, count) in &self.0 {
            found = (*low, *high);
            left -= count;
            if left <= 0.0 {
                break;
            }
        }
        found
    }
}

/// Every query, by its bucket and by quantiles.
pub fn inside_is_outside_less_the_round_trip(server: &Server) {
    let mut client = server.client(server.database());
    // Where others want the CPUs, too, the way there and back is mostly waiting for one.
    first_on_its_cpu(thread_of(&mut client, server));
    first_on_its_cpu(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
    let way = round_trip(&mut client);
    let Some(mut observed) = Observed::begin(&of(server)) else { return };
    let mut outside = send(&mut client, SENT, |number| sql(server, number));
    outside.sort_by(f64::total_cmp);
    wait_for_the_last();
    let inside = Inside::of(observed.read());
    let name = server.scheme;
    assert_eq!(inside.all(), SENT as f64, "{name}");
    // PostgreSQL is done before it sends the last of its answer. MariaDB cleans up after it, which the client may see too late.
    let after = if name == "mysql" { way } else { 0.0 };
    // A way back may take longer than 99 of 100 did.
    let late = 0.02;
    for share in [0.5, 0.9, 0.99] {
        let ((low, high), seen) = (inside.within(share), within(&outside, share));
        eprintln!("{name} {share}: {low} to {high} us inside, {seen:.1} us outside, {way:.1} us there and back");
        assert!(low <= seen + after, "{name} {share}: {low} us inside, {seen} us outside");
        let fewest = within(&outside, share - late);
        assert!(fewest <= high + way, "{name} {share}: {high} us inside, {fewest} us outside, {way} us there and back");
    }
    for ms in [1, 5, 20] {
        let asleep = (0..SENT).filter(|number| sleeps_ms(*number) >= ms).count() as f64;
        // The bucket that has it begins before.
        let (low, _, _) = *inside.0.iter().rfind(|(low, _, _)| *low <= ms as f64 * 1e3).unwrap();
        let slow = inside.all() - inside.below(low);
        assert!(slow >= asleep, "{name}: {slow} took {ms} ms, {asleep} slept as long");
    }
    let few = SENT as f64 * late;
    for (bound, _, _) in &inside.0 {
        let outside_below = |bound: f64| outside.partition_point(|us| *us < bound) as f64;
        // An answer with rows is under way for longer than an empty one.
        let (fewest, most) = (outside_below(bound - after), outside_below(bound + 2.0 * way));
        let counted = inside.below(*bound);
        let early = if after > 0.0 { few } else { 0.0 };
        assert!(
            counted + early >= fewest && counted <= most + few,
            "{name}: {counted} below {bound} us inside; outside {fewest}, and {most} with twice {way} us more"
        );
    }
}
