//! Imports of more inputs than are read, and kept, one by one.

use std::collections::BTreeSet;

use super::*;
use crate::{group::Group, probe::Probing, progress::SharedProgress, read_plan::ReadPlan};

/// The plan when all inputs are probed before any is written; `duplicate` is left out.
fn planned(plan: &Plan, duplicate: Option<usize>) -> ReadPlan {
    taken_early(plan, duplicate, 0).1
}

/// The first groups that can be written while others are probed, `most` of them at most, and what is planned then.
fn taken_early(plan: &Plan, duplicate: Option<usize>, most: usize) -> (Vec<Group>, ReadPlan) {
    let shared = SharedProgress::default();
    let duplicates = duplicate.map(|place| (place, 0)).into_iter().collect();
    let probing = Probing::new(plan, &duplicates, &shared);
    std::thread::scope(|scope| {
        probing.begin(scope);
        let taken = (0..most).map_while(|turn| probing.settled(turn, &mut |_| true, ("", 0))).collect();
        (taken, ReadPlan::new(&plan.sources, plan.host.is_some(), probing.finish()))
    })
}

/// This many texts of mpstat, of vmstat and of an unknown format, in turn; one of mpstat is packed and one is long.
fn many(n: usize) -> Vec<(String, Vec<u8>)> {
    let content = |i: usize| match i % 3 {
        0 if i == 30 => gzip(MPSTAT.replace("10.00", "30.00").as_bytes()),
        0 => MPSTAT.replace("10.00", &format!("{}.{:02}", i % 90, i / 90)).into_bytes(),
        1 if i == 31 => [VMSTAT.replace("40 10 50", "31 10 59"), "\n".repeat(70_000)].concat().into_bytes(),
        1 => VMSTAT.replace("300 40 10 50", &format!("{} {} 10 {}", 300 + i, i % 90, 90 - i % 90)).into_bytes(),
        _ => format!("unknown text {i}\n").into_bytes(),
    };
    (0..n).map(|i| (format!("{i:03}.txt"), content(i))).collect()
}

#[test]
fn many_inputs_are_recognised_read_and_kept_as_each_alone_would_be() {
    // More than are probed by one thread, and than are made durable one by one; then more than have a file each.
    for n in [90, 180] {
        let files = many(n);
        let slices: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        let place = Place::of(&slices);
        let (manifest, inputs) = place.imported(|_| {});
        let formats: Vec<_> = inputs.iter().map(|input| input.format).collect();
        assert_eq!(formats, [Some("mpstat"), Some("vmstat"), None].repeat(n / 3));
        let raw: Vec<String> = manifest.inputs.iter().map(|input| input.raw.name.clone()).collect();
        let own = raw.iter().filter(|name| *name != "raw/short-inputs.zst").count();
        assert_eq!(own, if n == 90 { 90 } else { 2 }, "{raw:?}");
        assert_eq!(
            fs::read_dir(place.store.run_dir(&manifest.id).join("raw")).unwrap().count(),
            if n == 90 { 90 } else { 3 }
        );

        let usr = place.usr(&manifest.id, "cpu");
        let count = |value: f64| usr.iter().filter(|row| row.2 == value).count();
        assert_eq!((usr.len(), count(20.0), count(87.0), count(31.0)), (n, n / 3, 1, n / 90));
        let kept_again = || kept(&place.store, &place.store.run(&manifest.id).unwrap()).unwrap();
        let texts: Vec<(String, String)> =
            kept_again().iter().map(|source| (source.name.clone(), unpacked(source))).collect();
        for ((name, text), (expected, content)) in texts.iter().zip(&files) {
            assert_eq!(name, expected);
            assert!(text.as_bytes() == content || name == "030.txt", "{name}");
        }

        // Kept inputs give the same rows again, in the same order.
        let (again, _) = place.imported(|plan| {
            plan.sources = kept_again();
            plan.force = true;
        });
        assert_ne!(again.id, manifest.id);
        assert!(place.usr(&again.id, "cpu") == usr && place.notes(&again.id) == place.notes(&manifest.id));
        assert_eq!(again.hosts, manifest.hosts);
    }
}

#[test]
fn a_group_of_inputs_has_the_rows_of_each_alone() {
    let files = many(120);
    let slices: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let together = Place::of(&slices);
    let (manifest, _) = together.imported(|_| {});
    let mut alone = Vec::new();
    for (name, content) in slices.iter().enumerate().filter(|(i, _)| i % 3 < 2).map(|(_, file)| file) {
        let place = Place::of(&[(name, content)]);
        let (run, _) = place.imported(|_| {});
        alone.extend(place.usr(&run.id, "cpu").into_iter().map(|(t, _, usr)| (t, usr)));
    }
    let grouped: Vec<(f64, f64)> = together.usr(&manifest.id, "cpu").into_iter().map(|(t, _, usr)| (t, usr)).collect();
    let sorted = |mut rows: Vec<(f64, f64)>| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        rows
    };
    assert_eq!(sorted(grouped), sorted(alone));
}

#[test]
fn what_was_read_before_the_hosts_of_others_were_known_is_read_again_where_they_matter() {
    // Of 96 inputs every other one names no host, the others name these.
    let rows_of = |hosts: [&str; 2]| {
        let content = |i: usize| match i % 2 {
            0 => MPSTAT.replace("db1", hosts[usize::from(i == 50)]).replace("10.00", &format!("{}.25", i % 90)),
            _ => VMSTAT.replace("300 40 10 50", &format!("{} 41 9 50", 300 + i)),
        };
        let files: Vec<(String, String)> = (0..96).map(|i| (format!("{i:03}.txt"), content(i))).collect();
        let slices: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let place = Place::of(&slices);
        let ready = planned(&place.plan(), None).ready;
        let (early, rest) = taken_early(&place.plan(), None, 9);
        let left = rest.ready.iter().filter(|group| group.lock().unwrap().is_some()).count();
        // Groups that were taken are not there once more.
        assert_eq!(early.len() + left, ready.iter().filter(|group| group.lock().unwrap().is_some()).count());
        let (manifest, _) = place.imported(|_| {});
        let hosts_of_vmstat: BTreeSet<String> =
            place.usr(&manifest.id, "cpu").into_iter().filter(|row| row.2 == 41.0).map(|row| row.1).collect();
        let guesses = place.notes(&manifest.id).iter().filter(|(_, text)| text.contains("the host `")).count();
        (early.len(), hosts_of_vmstat.into_iter().collect::<Vec<_>>().join(" "), guesses, manifest.hosts.join(" "))
    };
    assert_eq!(rows_of(["db1", "db1"]), (0, "db1".to_owned(), 48, "db1".to_owned()));
    assert_eq!(rows_of(["db1", "db2"]), (3, "unknown".to_owned(), 0, "unknown db1 db2".to_owned()));
}

#[test]
fn only_the_neighbours_of_what_has_no_times_are_read_again() {
    let content = |i: usize| match i {
        40 => "time,ops\n08:00:00,5\n08:00:01,6\n".to_owned(),
        _ => MPSTAT.replace("10.00", &format!("{}.25", i % 90)),
    };
    let files: Vec<(String, String)> = (0..70).map(|i| (format!("{i:03}.txt"), content(i))).collect();
    let slices: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let place = Place::of(&slices);
    let ready = planned(&place.plan(), None).ready;
    let is_ready: Vec<bool> = ready.into_iter().map(|group| group.lock().unwrap().is_some()).collect();
    assert_eq!(is_ready, [true, false, true]);
    let left_out = planned(&place.plan(), Some(3)).ready;
    assert!(left_out[0].lock().unwrap().is_none());
    // Nothing behind a group that has to be read again is written before it.
    let (early, rest) = taken_early(&place.plan(), None, 9);
    let is_left: Vec<bool> = rest.ready.into_iter().map(|group| group.lock().unwrap().is_some()).collect();
    assert_eq!((early.len(), early[0].inputs.len(), is_left), (1, 32, vec![false, false, true]));
    let (manifest, inputs) = place.imported(|_| {});
    assert_eq!((inputs.len(), place.usr(&manifest.id, "cpu").len()), (70, 2 * 69));
}

#[test]
fn an_import_of_many_inputs_ends_when_it_is_asked_to_whatever_it_is_doing() {
    let files = many(180);
    let slices: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let place = Place::of(&slices);
    // Also while groups are written early, of which there are some.
    for (patience, all_are_mpstat) in [(0, false), (40, false), (40, true), (100, true)] {
        let mut asked = 0;
        let mut plan = place.plan();
        if all_are_mpstat {
            plan.sources.retain(|source| source.name != "030.txt" && unpacked(source).starts_with("Linux"));
            assert!(taken_early(&plan, None, 9).0.len() > 1);
        }
        let result = import(&plan, &mut |_| {
            asked += 1;
            asked <= patience
        });
        match result {
            Err(error) => assert_eq!(error.to_string(), "interrupted; nothing was imported", "{patience}"),
            Ok(_) => assert!(asked <= patience, "{patience} {asked}"),
        }
    }
    assert_eq!(place.store.summaries().unwrap().len(), 1, "the last one was not interrupted");
}
