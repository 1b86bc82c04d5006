//! Recordings of runs that follow one another, in a made-up time and a store on disk.

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, TimestampMicrosecondType},
};
use fenxi_store::{RunEntry, SERIES, Store};

use super::*;
use crate::{Keep, Roll, Thin};

/// A moment and the interval before it, in microseconds, with the number that the source gave.
type Sampled = (i64, i64, f64);

fn plan(time: &Shared, store: Option<&Store>, interval_s: f64, every_s: f64) -> Plan {
    let source = Counting { time: time.clone(), spec: &EVERY_TICK };
    let facts = Counting { time: time.clone(), spec: &AT_BOTH_ENDS };
    let mut plan = Plan::new(vec![Arc::new(source), Arc::new(facts)], Root::live(), "made".to_owned(), interval_s);
    plan.store = store.cloned();
    plan.name = "night".to_owned();
    plan.tags.insert(SERIES.to_owned(), "night".to_owned());
    plan.roll = Some(Roll { every_s, series: "night".to_owned(), keep: Keep::default(), reload: None });
    plan
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path().join("store")).unwrap();
    (dir, store)
}

fn run(time: &Shared, plan: Plan) -> Outcome {
    observe_in(time.clone(), plan, &mut |_| ControlFlow::Continue(())).unwrap().seal().unwrap()
}

/// The runs of a store, oldest first, each with what was sampled at its ticks.
fn runs(store: &Store) -> Vec<(RunEntry, Vec<Sampled>)> {
    let mut runs = store.runs().unwrap();
    runs.reverse();
    let read = |entry: RunEntry| {
        let batches = store.read(&entry.manifest.id, "sched").unwrap();
        (entry, batches.iter().flat_map(sampled).collect())
    };
    runs.into_iter().map(read).collect()
}

fn sampled(batch: &RecordBatch) -> Vec<Sampled> {
    let t = batch.column_by_name("t").unwrap().as_primitive::<TimestampMicrosecondType>();
    let dt = batch.column_by_name("dt").unwrap().as_primitive::<Float64Type>();
    let n = batch.column_by_name("runnable").unwrap().as_primitive::<Float64Type>();
    // Rows without an interval are the first of a collector: they belong to no tick.
    let ticks = (0..batch.num_rows()).filter(|row| dt.is_valid(*row));
    ticks.map(|row| (t.value(row), (dt.value(row) * 1e6).round() as i64, n.value(row))).collect()
}

#[test]
fn an_hour_of_runs_of_a_minute_misses_no_tick() {
    let (_dir, store) = store();
    let time = Shared::default();
    let mut hour = plan(&time, Some(&store), 1.0, 60.0);
    hour.sources.truncate(1);
    hour.duration_s = Some(3600.0);
    let outcome = run(&time, hour);
    assert_eq!((outcome.progress.ticks, outcome.progress.missed, outcome.runs), (3600, 0, 61));
    let rolled = runs(&store);
    assert_eq!(rolled.len(), 61);
    let minute = 60_000_000;
    for (entry, rows) in &rolled {
        let manifest = &entry.manifest;
        assert_eq!((manifest.ticks, manifest.missed_ticks), (Some(rows.len() as u64), Some(0)));
        assert_eq!((manifest.start.0, manifest.end.0), (rows[0].0 - rows[0].1, rows[rows.len() - 1].0));
        assert!(manifest.start.0 / minute == (manifest.end.0 - 1) / minute, "within one minute");
        assert_eq!(entry.labels.tags[SERIES], "night");
        assert!(!manifest.recovered);
    }
    // Each run begins where the one before ended, and all that was sampled is there once and in order.
    assert!(rolled.windows(2).all(|two| two[0].0.manifest.end == two[1].0.manifest.start));
    let together: Vec<Sampled> = rolled.into_iter().flat_map(|(_, rows)| rows).collect();

    let (_dir, other) = self::store();
    let time = Shared::default();
    let mut whole = plan(&time, Some(&other), 1.0, 60.0);
    whole.sources.truncate(1);
    (whole.roll, whole.duration_s) = (None, Some(3600.0));
    run(&time, whole);
    let [(_, unrolled)] = runs(&other).try_into().unwrap();
    assert_eq!(together, unrolled);
}

#[test]
fn facts_are_told_in_each_run_at_begin_and_end() {
    let (_dir, store) = store();
    let time = Shared::default();
    let mut short = plan(&time, Some(&store), 1.0, 2.0);
    short.sources.remove(0);
    short.duration_s = Some(6.0);
    run(&time, short);
    let reported: Vec<Vec<f64>> = runs(&store).iter().map(|(entry, _)| values(&store, entry)).collect();
    assert_eq!(reported, [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]);
}

fn values(store: &Store, entry: &RunEntry) -> Vec<f64> {
    let batches = store.read(&entry.manifest.id, "sched").unwrap();
    let column = |batch: &RecordBatch| {
        let array = batch.column_by_name("runnable").unwrap().as_primitive::<Float64Type>();
        array.values().to_vec()
    };
    batches.iter().flat_map(column).collect()
}

#[test]
fn after_a_step_of_the_clock_the_next_run_begins_on_time_again() {
    let (_dir, store) = store();
    let time = Shared::default();
    // The clock is at 40 s of a minute.
    time.with(|made| made.step = Some((10.5, 5.5)));
    let mut stepped = plan(&time, Some(&store), 1.0, 60.0);
    stepped.duration_s = Some(180.0);
    let outcome = run(&time, stepped);
    assert_eq!(outcome.progress.missed, 0);
    let starts: Vec<i64> = runs(&store).iter().map(|(entry, _)| entry.manifest.start.0 % 60_000_000).collect();
    // The run in which it stepped keeps its own time to its end; that is 5.5 s late.
    assert_eq!(starts, [40_000_000, 5_500_000, 0, 0], "{starts:?}");
}

#[test]
fn a_reload_begins_a_new_run_with_new_options_and_loses_nothing() {
    let (_dir, store) = store();
    let time = Shared::default();
    let hangup = Wake::Signal { signal: Signal::HUP, ends: true, by_process: true };
    time.with(|made| made.wakes = [(4.5, hangup)].into());
    let mut first = plan(&time, Some(&store), 1.0, 60.0);
    first.sources.truncate(1);
    first.duration_s = Some(10.0);
    let (again, theirs) = (store.clone(), time.clone());
    let reload = move || {
        let mut next = plan(&theirs, Some(&again), 2.0, 60.0);
        next.sources.truncate(1);
        next.duration_s = Some(10.0);
        Ok(next)
    };
    first.roll.as_mut().unwrap().reload = Some(Box::new(reload));
    let outcome = run(&time, first);
    assert_eq!((outcome.interrupted, outcome.runs), (None, 2));
    let intervals: Vec<Vec<i64>> =
        runs(&store).iter().map(|(_, rows)| rows.iter().map(|(_, dt, _)| *dt / 100_000).collect()).collect();
    assert_eq!(intervals, [vec![10, 10, 10, 10, 5], vec![15, 20, 20]]);
    let counts = runs(&store).iter().map(|(entry, _)| entry.manifest.interval_s).collect::<Vec<_>>();
    assert_eq!(counts, [Some(1.0), Some(2.0)]);
}

#[test]
fn options_that_cannot_be_read_change_nothing() {
    let (_dir, store) = store();
    let time = Shared::default();
    let hangup = Wake::Signal { signal: Signal::HUP, ends: true, by_process: true };
    time.with(|made| made.wakes = [(4.5, hangup)].into());
    let mut first = plan(&time, Some(&store), 1.0, 60.0);
    first.sources.truncate(1);
    first.duration_s = Some(8.0);
    first.roll.as_mut().unwrap().reload = Some(Box::new(|| Err("line 3: no option --interwal".to_owned())));
    assert_eq!(run(&time, first).runs, 2);
    let all = runs(&store);
    let events: Vec<RecordBatch> = all.iter().flat_map(|(e, _)| store.read(&e.manifest.id, "event").unwrap()).collect();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    let text = event.column_by_name("message").unwrap().as_string::<i32>().value(0).to_owned();
    assert_eq!(text, "options were not read, those before hold: line 3: no option --interwal");
    assert_eq!(all.iter().map(|(_, rows)| rows.len()).sum::<usize>(), 9);
}

#[test]
fn thirty_days_take_no_more_than_is_asked_for() {
    let (_dir, store) = store();
    let time = Shared::default();
    let day = 86_400.0;
    let mut month = plan(&time, Some(&store), 900.0, 14_400.0);
    month.duration_s = Some(30.0 * day);
    let thin = vec![Thin { after_s: 2.0 * day, step_s: 3600.0 }];
    month.roll.as_mut().unwrap().keep = Keep { age_s: Some(14.0 * day), bytes: Some(20 << 30), thin };
    let mut kept_one = None;
    let mut watch = |stage: Stage<'_>| {
        if let Stage::Rolled { .. } = stage {
            let all = store.summaries().unwrap();
            let now = time.wall();
            // A run of four hours may be as old as that when it ends, and is looked at when the next one does.
            let oldest = all.iter().filter(|run| Some(&run.id) != kept_one.as_ref()).map(|run| run.end).min();
            assert!(oldest.is_none_or(|end| now.seconds_since(end) <= 14.0 * day + 2.0 * 14_400.0 + day));
            if kept_one.is_none()
                && let Some(first) = all.last()
            {
                store
                    .change_labels(&first.id, |entry| {
                        entry.labels.tags.insert("keep".to_owned(), "yes".to_owned());
                        Ok::<(), fenxi_store::StoreError>(())
                    })
                    .unwrap();
                kept_one = Some(first.id.clone());
            }
        }
        ControlFlow::Continue(())
    };
    let outcome = observe_in(time.clone(), month, &mut watch).unwrap().seal().unwrap();
    // It began between two ticks: the first and the last interval are parts of one.
    assert_eq!((outcome.progress.ticks, outcome.progress.missed), (30 * 96 + 1, 0));
    let left = runs(&store);
    assert_eq!(Some(&left[0].0.manifest.id), kept_one.as_ref(), "a run that is labelled `keep` stays");
    // Two days of runs of four hours, twelve of merged ones, and the one that was kept.
    assert!((25..=32).contains(&left.len()), "{}", left.len());
}
