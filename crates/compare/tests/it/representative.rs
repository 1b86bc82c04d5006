//! Which run stands for a group, and which ones an average is made of.

use fenxi_compare::{Averaging, Outliers, Representative, Room};

use crate::runs::Runs;

/// Runs whose only difference is `usr`.
fn runs(usr: &[f64]) -> Runs {
    let mut runs = Runs::new();
    for (i, usr) in usr.iter().enumerate() {
        runs.add(&format!("r{i}"), 20.0, |run| {
            run.result("elapsed", 20.0, "s", "lower");
            run.cpu(*usr, 100.0 - usr, 0, 10);
            run.cpu(50.0, 50.0, 10, 20);
        });
    }
    runs
}

#[test]
fn the_run_nearest_to_all_others_stands_for_them() {
    let runs = runs(&[41.0, 40.0, 90.0, 42.0, 43.0]);
    let found = Representative::of(&runs.store, &runs.ids, "all", Room::default()).unwrap();
    // Means of 20 s: 45.5, 45, 70, 46, 46.5. Sums of distances: 26.5, 28, 98, 26, 26.5.
    assert_eq!(found.representative, runs.ids[3]);
    let outliers: Vec<&str> = found.runs.iter().filter(|stood| stood.outlier).map(|s| s.name.as_str()).collect();
    assert_eq!(outliers, ["r2"]);
    // Squares of the distances from 50.6: 26.01 + 31.36 + 376.36 + 21.16 + 16.81 = 471.7, so that the standard deviation
    // is sqrt(471.7 / 4) = 10.86; both series, usr and steal, are as far off.
    let distances: Vec<String> = found.runs.iter().map(|stood| format!("{:.3}", stood.distance)).collect();
    assert_eq!(distances, ["0.046", "0.092", "2.210", "0.000", "0.046"]);
    let order: Vec<&str> = found.nearest_first().iter().map(|stood| stood.name.as_str()).collect();
    assert_eq!((order[0], order[3], order[4]), ("r3", "r1", "r2"));
}

#[test]
fn runs_that_differ_only_outside_the_window_are_alike() {
    let runs = runs(&[41.0, 90.0, 42.0]);
    let found = Representative::of(&runs.store, &runs.ids, "10s..", Room::default()).unwrap();
    assert_eq!(found.runs.iter().map(|stood| stood.distance).collect::<Vec<_>>(), [0.0; 3]);
}

#[test]
fn an_average_begins_with_the_representative_run_and_may_leave_out_outliers() {
    let runs = runs(&[41.0, 40.0, 90.0, 42.0, 43.0]);
    let averaging = |outliers| Averaging::of(&runs.store, &runs.ids, "5s..", outliers, Room::default()).unwrap();
    let kept = averaging(Outliers::Keep);
    assert_eq!((kept.members.len(), kept.members[0].id.clone(), kept.left_out), (5, runs.ids[3].clone(), vec![]));
    let window = kept.members[0].window.clone().unwrap();
    assert_eq!(window.start.seconds_since(runs.entry(3).manifest.start), 5.0);
    let less = averaging(Outliers::LeaveOut);
    assert_eq!(less.left_out, [runs.ids[2].clone()]);
    assert!(less.members.iter().all(|member| member.id != runs.ids[2]) && less.members.len() == 4);
    let remark = |all: &[(String, String)]| all[2].clone();
    assert_eq!(remark(&kept.remarks), (format!("distance of {}", runs.ids[2]), "2.21, an outlier".to_owned()));
    assert_eq!(remark(&less.remarks).1, "2.21, an outlier, excluded");
    let few = Averaging::of(&runs.store, &runs.ids[..1], "all", Outliers::Keep, Room::default()).unwrap_err();
    assert_eq!(few.to_string(), "an average needs at least two runs, not 1");
}
