//! An average of runs is a run.

use crate::{
    compare::{import, lines},
    support::Fenxi,
};

#[test]
fn an_average_is_a_run_like_any_other_and_keeps_the_spread() {
    let fenxi = Fenxi::new();
    for (i, usr) in [40u32, 42, 44].into_iter().enumerate() {
        import(&fenxi, &format!("a{i}"), "a", 10, 1000.0 + 10.0 * i as f64, |s| usr + 2 * (s % 2), 20);
    }
    let made = lines(&fenxi.ok(&["average", "g=a", "--name", "mean", "--tag", "g=mean", "--json"])).remove(0);
    assert_eq!(made["of"].as_array().unwrap().len(), 3);
    assert_eq!(made["representative"], lines(&fenxi.ok(&["representative", "a1", "--json"]))[0]["run"]);

    // Interval by interval: 40, 42, 44 in even seconds and 2 more in odd ones.
    let rows = fenxi.sql("select t, dt, usr, host from cpu where run = 'mean' or run like '%-mean-%' order by t");
    assert_eq!(rows.len(), 20);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!((&row["usr"], &row["dt"]), (&(42.0 + 2.0 * ((i + 1) % 2) as f64).into(), &1.0.into()), "{row}");
    }
    let spread = fenxi.number("select avg(usr) from spread.cpu");
    assert!((spread - 2.0).abs() < 1e-9, "{spread}");
    let throughput = fenxi.number("select value from result where name = 'throughput' and run like '%-mean-%'");
    assert_eq!(throughput, 1010.0);
    assert_eq!(fenxi.number("select value from spread.result where name = 'throughput'"), 10.0);

    // A fact that is the same in all stays as it was; one that is not is reported.
    let differs = fenxi.sql("select name, value from text where run like '%-mean-%' and topic = 'differs'");
    assert!(differs.iter().all(|d| d["name"] != "load pgbench scaling factor"), "{differs:?}");
    let from = fenxi.sql("select value from text where run like '%-mean-%' and topic = 'average' and name = 'runs'");
    assert_eq!(from[0]["value"].as_str().unwrap().lines().count(), 3);

    // And it is a run: shown, compared, verified, averaged again.
    assert!(fenxi.ok(&["show", "mean"]).contains("average"));
    let compared = fenxi.ok(&["compare", "a1", "mean", "--json"]);
    assert!(lines(&compared).iter().any(|l| l["column"] == "throughput" && l["change"] == 0.0), "{compared}");
    fenxi.ok(&["verify", "mean"]);
    fenxi.ok(&["average", "mean", "a1", "--name", "again"]);
    assert!(fenxi.fails(1, &["average", "a1"]).contains("at least two runs"));
}

#[test]
fn strange_runs_are_told_and_left_out_when_asked() {
    let fenxi = Fenxi::new();
    for (i, usr) in [40u32, 41, 42, 43, 90].into_iter().enumerate() {
        import(&fenxi, &format!("r{i}"), "a", 10, 1000.0, |s| usr + s % 2, 10);
    }
    let page = fenxi.ok(&["average", "g=a", "--name", "all"]);
    assert!(page.contains("representative") && page.contains("outlier"), "{page}");
    let made = lines(&fenxi.ok(&["average", "g=a", "--name", "some", "--drop-outliers", "--json"])).remove(0);
    assert_eq!((made["of"].as_array().unwrap().len(), made["left_out"].as_array().unwrap().len()), (4, 1));
    let greatest = fenxi.number("select max(usr) from cpu where run like '%-some-%'");
    assert!(greatest < 45.0, "{greatest}");
}

#[test]
fn runs_of_different_length_are_told() {
    let fenxi = Fenxi::new();
    for (i, samples) in [10, 10, 10, 5].into_iter().enumerate() {
        import(&fenxi, &format!("r{i}"), "a", 10, 1000.0 + i as f64, |s| 40 + s % 2, samples);
    }
    fenxi.ok(&["average", "g=a", "--name", "mean"]);
    let note = &fenxi.sql("select message from note where source = 'average'")[0]["message"];
    assert!(
        note.as_str().unwrap().contains("0 of the runs are longer") && note.as_str().unwrap().contains("1 are shorter"),
        "{note}"
    );
    assert_eq!(fenxi.number("select count(*) from cpu where run like '%-mean-%'"), 10.0);
}
