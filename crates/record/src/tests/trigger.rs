//! Triggers in a recording: over made-up time, and with processes that begin while it goes on.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use arrow_array::{cast::AsArray, types::TimestampMicrosecondType};
use fenxi_model::catalog::{process, vm};
use fenxi_store::Store;

use super::*;
use crate::{
    Condition, Triggers, choose,
    sampler::{Round, Sampler},
};

/// A store in a folder that goes with it.
struct TempStore {
    folder: PathBuf,
    store: Store,
}

impl TempStore {
    fn new(name: &str) -> TempStore {
        let folder = std::env::temp_dir().join(format!("fenxi-trigger-{name}-{}", std::process::id()));
        let store = Store::open_or_create(&folder).unwrap();
        TempStore { folder, store }
    }

    /// The seconds since the begin of all rows of a table.
    fn seconds(&self, run: &fenxi_model::RunId, table: &str) -> Vec<f64> {
        let batches = self.store.read(run, table).unwrap();
        let times = batches
            .iter()
            .map(|batch| batch.column_by_name("t").unwrap().as_primitive::<TimestampMicrosecondType>().clone());
        times.flat_map(|times| times.values().to_vec()).map(|t| (t - BEGIN.0) as f64 / 1e6).collect()
    }
}

impl Drop for TempStore {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.folder);
    }
}

fn triggers(condition: &str) -> Triggers {
    Triggers::new(vec![Condition::parse(condition).unwrap()])
}

/// Records for a minute of made-up time what a source counts; gives what became of it.
fn minute(kept: &TempStore, triggers: Triggers) -> Outcome {
    let source = Counting { time: Shared::default(), spec: &EVERY_TICK };
    let time = source.time.clone();
    let mut plan = Plan::new(vec![Arc::new(source)], Root::live(), "made".to_owned(), 1.0);
    plan.duration_s = Some(60.0);
    plan.store = Some(kept.store.clone());
    plan.triggers = Some(triggers);
    observe_in(time, plan, &mut |_| ControlFlow::Continue(())).unwrap().seal().unwrap()
}

#[test]
fn only_what_is_around_a_trigger_is_kept_with_before() {
    let kept = TempStore::new("before");
    // The source counts its samples, and has one before the first tick: it comes to 21 and 41 at 20 and 40 s.
    let plan = Triggers { before_s: Some(3.0), after_s: 2.0, calm_s: 0.0, ..triggers("sched.runnable reaches 21,41") };
    let outcome = minute(&kept, plan);
    let run = outcome.run.unwrap();
    let around = |t: i32| (t - 3..=t + 2).map(f64::from).collect::<Vec<_>>();
    assert_eq!(kept.seconds(&run, "sched"), [around(20), around(40)].concat());
    assert_eq!(kept.seconds(&run, "event"), [20.0, 40.0]);
    let windows = kept.store.run(&run).unwrap().windows();
    let reported: Vec<_> = windows.iter().map(|w| (w.name.as_str(), w.start.0 - BEGIN.0, w.end.0 - BEGIN.0)).collect();
    assert_eq!(reported, [("trigger-1", 17_000_000, 22_000_000), ("trigger-2", 37_000_000, 42_000_000)]);
    assert_eq!((outcome.triggered[0].fired, outcome.triggered[0].never.clone()), (2, None));
}

#[test]
fn what_never_fired_is_said_and_without_before_all_is_kept() {
    let kept = TempStore::new("never");
    let outcome = minute(&kept, triggers("sched.runnable > 100"));
    let run = outcome.run.unwrap();
    assert_eq!(kept.seconds(&run, "sched").len(), 61, "one before the first interval");
    let never = outcome.triggered[0].never.clone().unwrap();
    assert!(never.starts_with("never fired: the largest value seen was 61 at "), "{never}");
    assert_eq!(kept.seconds(&run, "event"), [60.0], "it is an event as well");
}

#[test]
fn it_acts_as_often_as_it_may() {
    let kept = TempStore::new("most");
    let plan = Triggers { at_most: 2, calm_s: 0.0, ..triggers("sched.runnable reaches 10,20,30,40") };
    let run = minute(&kept, plan).run.unwrap();
    assert_eq!(kept.seconds(&run, "event"), [9.0, 19.0, 29.0], "the last one reports that nothing is done any more");
    assert_eq!(kept.store.run(&run).unwrap().windows().len(), 2);
}

/// A process that uses a CPU until it is dropped.
struct Burner(Child);

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_burns_a_cpu_starts_a_source_which_ends_again() {
    let sources = choose(&["process".to_owned()]).unwrap();
    let mut plan = Plan::new(sources, Root::live(), "here".to_owned(), 0.1);
    plan.duration_s = Some(60.0);
    plan.triggers = Some(Triggers {
        then: vec!["+vm".to_owned()],
        after_s: 0.5,
        ..triggers("sum(process.usr{comm=yes}) > 1 for 200ms")
    });
    let (mut burner, mut ticks, mut events, mut rows_of_vm, mut quiet) = (None, 0, Vec::new(), 0, 0);
    let outcome = crate::record(plan, &mut |stage| {
        let Stage::Tick { rows, .. } = stage else { return ControlFlow::Continue(()) };
        ticks += 1;
        if ticks == 5 {
            assert_eq!(rows_of_vm, 0, "nothing runs yet that could fire");
            burner = Some(Burner(Command::new("yes").stdout(Stdio::null()).spawn().unwrap()));
        }
        if let Some(all) = rows.of(&event::TABLE) {
            events.extend((0..all.n_rows()).filter_map(|row| {
                Some((all.str(row, event::kind)?.to_owned(), all.str(row, event::message)?.to_owned()))
            }));
        }
        let n = rows.of(&vm::TABLE).map_or(0, |rows| rows.n_rows());
        rows_of_vm += n;
        quiet = if n > 0 { 0 } else { quiet + 1 };
        assert!(rows.of(&process::TABLE).is_some() || ticks < 3);
        // Some ticks after the last row of the source that was started, it has ended.
        if rows_of_vm > 0 && quiet > 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    drop(burner);
    events.retain(|(kind, _)| kind == "trigger");
    let [(_, message)] = events.try_into().unwrap();
    assert!(message.contains("and has held for") && message.ends_with("; started vm"), "{message}");
    assert!(rows_of_vm > 0 && outcome.progress.elapsed_s < 59.0, "{rows_of_vm} rows, {:?}", outcome.progress);
    assert_eq!(outcome.triggered[0].fired, 1);
}

#[test]
fn a_source_that_a_trigger_starts_is_sampled_in_place_of_one_of_its_name() {
    let chosen = choose(&["sched".to_owned()]).unwrap();
    let (clock, mut rows) = (super::Shared::default(), Rows::new("here"));
    let mut sampler = Sampler::start(&chosen, &Root::live(), &mut rows).unwrap();
    let sampled = |sampler: &mut Sampler, round: Round| {
        clock.with(|made| made.now += 1.0);
        let mut rows = Rows::new("here");
        sampler.sample(&clock, clock.wall(), round, &mut rows);
        rows.of(&sched::TABLE).map_or(0, |rows| rows.n_rows())
    };
    assert_eq!((sampled(&mut sampler, Round::First), sampled(&mut sampler, Round::Tick)), (0, 1));
    let collector = chosen[0].start(&Root::live()).unwrap();
    let now = (clock.monotonic(), clock.wall());
    let number = sampler.add(Arc::clone(&chosen[0]), collector, true, now, &mut rows);
    assert_eq!((sampled(&mut sampler, Round::Tick), sampled(&mut sampler, Round::Tick)), (1, 1));
    sampler.remove(number, clock.monotonic(), clock.wall(), &mut rows);
    // Its interval begins now.
    assert_eq!((sampled(&mut sampler, Round::Tick), sampled(&mut sampler, Round::Tick)), (0, 1));
}
