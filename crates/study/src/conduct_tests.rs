//! Work that is left of a study, by the runs that are there: no command runs.

use fenxi_model::Micros;
use fenxi_source::Root;

use super::{Conduct, Event, Means, Outcome, conduct, tag_cut_short};
use crate::{
    Design, FAILED, Slot, made,
    tests::{PLAN, Study},
};

/// Calls `with` with the means of a study that makes no run.
fn with_means<V>(study: &Study, with: impl FnOnce(Means<'_>) -> V) -> V {
    let (root, random, now) = (Root::saved("nowhere"), || 1, || Micros(0));
    let store = &study.store;
    with(Means { store, host: "h1", root: &root, sources: &[], random: &random, now: &now, asks: None })
}

#[test]
fn what_is_not_finished_is_made_in_the_order_of_the_plan() {
    let study = Study::new(&PLAN.replace("repeats = 2", "repeats = 2\ncooldown = \"1s\"\nretries = 1"));
    study.run((1, "a=1", 1), 10.0, |_| {});
    for attempt in [1, 2] {
        study.run((1, "a=2", attempt), 3.0, |run| run.failed("exit status 1"));
    }
    study.run((2, "a=1", 1), 20.0, |_| {});
    let design = Design::new(&study.plan, study.record.seed).unwrap();
    let earlier = made(&study.store, &study.record).unwrap();
    with_means(&study, |means| {
        let (todo, work) = Conduct::new(&study.plan, &study.record, means, &design, &earlier);
        assert_eq!(todo, [Slot { block: 1, cell: 1 }, Slot { block: 2, cell: 1 }]);
        assert_eq!(work.outcome, Outcome { planned: 4, finished: 2, ..Outcome::default() });
        // The next try of the failed cell is the third.
        assert_eq!((work.attempts.get(&(1, "a=2")), work.attempts.get(&(2, "a=2"))), (Some(&2), None));
        // Two runs as the other cell took, 15 s, and a second of rest each; failed ones do not count.
        assert_eq!(work.estimate.rest(todo.into_iter()), Some(32.0));
    });
}

#[test]
fn the_order_is_the_same_whenever_a_study_goes_on() {
    let text = PLAN.replace("order = \"given\"", "seed = 42").replace("repeats = 2", "repeats = 20");
    let study = Study::new(&text);
    let design = Design::new(&study.plan, study.record.seed).unwrap();
    let todo = |n: usize| {
        let earlier = made(&study.store, &study.record).unwrap();
        assert_eq!(earlier.len(), n);
        with_means(&study, |means| Conduct::new(&study.plan, &study.record, means, &design, &earlier).0)
    };
    assert_eq!(todo(0), design.order);
    for slot in &design.order[..3] {
        study.run((slot.block, &design.cells[slot.cell].label, 1), 1.0, |_| {});
    }
    assert_eq!(todo(3), design.order[3..]);
}

#[test]
fn a_study_that_is_finished_says_so_and_makes_nothing() {
    let study = Study::new(PLAN);
    for (block, cell) in [(1, "a=1"), (1, "a=2"), (2, "a=1"), (2, "a=2")] {
        study.run((block, cell, 1), 1.0, |_| {});
    }
    let mut reported = Vec::new();
    let outcome = with_means(&study, |means| {
        conduct(&study.plan, &study.record, means, &mut |event| reported.push(format!("{event:?}")))
    });
    assert_eq!(outcome.unwrap(), Outcome { planned: 4, finished: 4, ..Outcome::default() });
    assert_eq!(reported, [format!("{:?}", Event::Begins { finished: 4, planned: 4, left_s: Some(0.0) })]);
    assert_eq!(study.store.ids().unwrap().len(), 4);
    // The record is there from the first invocation on.
    assert_eq!(crate::Record::load(&study.store, "n").unwrap(), Some(study.record.clone()));
}

#[test]
fn what_a_dead_recorder_left_is_tagged_and_made_again() {
    let study = Study::new(PLAN);
    let run = study.cut_short(1, "a=1");
    let tag = || study.store.run(&run).unwrap().labels.tags.get(FAILED).cloned();
    let earlier = made(&study.store, &study.record).unwrap();
    assert_eq!(tag(), None);
    tag_cut_short(&study.store, &earlier).unwrap();
    assert_eq!(tag().as_deref(), Some("cut short: its recorder died"));
    let design = Design::new(&study.plan, study.record.seed).unwrap();
    let todo = with_means(&study, |means| Conduct::new(&study.plan, &study.record, means, &design, &earlier).0);
    assert_eq!(todo, design.order);
    // Labels by others are left as they are.
    let change = study.store.change_labels(&run, |entry| {
        entry.labels.tags.insert(FAILED.to_owned(), "my own words".to_owned());
        Ok::<_, fenxi_store::StoreError>(())
    });
    change.unwrap();
    tag_cut_short(&study.store, &earlier).unwrap();
    assert_eq!(tag().as_deref(), Some("my own words"));
}
