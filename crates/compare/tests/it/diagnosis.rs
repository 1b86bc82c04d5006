//! The answer first: what is found, in the order of what it explains.

use fenxi_compare::{Diagnosis, Names};
use fenxi_model::catalog::{cpu, db, db_wait, disk, load};
use fenxi_query::{Kind, SHIPPED_FINDINGS, Scope, Severity, findings};

use crate::runs::{Made, Runs};

/// Ten transactions of 10 ms at any moment; of each, `lock` of ten sessions wait for a lock, the others compute.
fn locked(run: &mut Made, lock: f64) {
    for second in 0..30 {
        let t = run.at(f64::from(second) + 1.0);
        let mut row = run.rows.row(&load::TABLE, t, 1.0);
        row.str(load::generator, "fenxi").f64(load::transactions_per_s, 1000.0).f64(load::latency_mean_ms, 10.0);
        run.rows.row(&db::TABLE, t, 1.0).str(db::server, "here").f64(db::samples, 10.0);
        for (activity, class, sessions) in [("lock", "Lock", lock), ("user io", "IO", 0.0), ("cpu", "", 10.0 - lock)] {
            let mut row = run.rows.row(&db_wait::TABLE, t, 1.0);
            row.str(db_wait::server, "here").str(db_wait::activity, activity).str(db_wait::wait_class, class);
            row.str(db_wait::wait_event, activity).str(db_wait::kind, "client").str(db_wait::measured, "sampled");
            row.f64(db_wait::time, sessions);
        }
    }
}

/// A disk that somebody keeps busy all the time.
fn busy_disk(run: &mut Made) {
    for second in 0..30 {
        let t = run.at(f64::from(second) + 1.0);
        let mut row = run.rows.row(&disk::TABLE, t, 1.0);
        row.str(disk::device, "sda").str(disk::class, "disk").f64(disk::util, 100.0).f64(disk::queue_depth, 20.0);
    }
}

/// A hypervisor that takes a tenth of the CPUs.
fn steal(run: &mut Made) {
    for second in 0..30 {
        let t = run.at(f64::from(second) + 1.0);
        run.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::steal, 10.0).f64(cpu::usr, 10.0).f64(cpu::idle, 80.0);
    }
}

fn diagnosed(fill: impl FnOnce(&mut Made)) -> Diagnosis {
    let mut runs = Runs::new();
    runs.add("r", 30.0, fill);
    let engine = runs.engine();
    let run = engine.store().select_one("r").unwrap();
    Diagnosis::of(&engine, &Scope::of([run])).unwrap()
}

fn place(diagnosis: &Diagnosis, name: &str) -> usize {
    diagnosis.found.iter().position(|found| found.finding.name == name).unwrap_or_else(|| panic!("{name} is not found"))
}

#[test]
fn what_takes_most_of_the_latency_is_the_bottleneck() {
    let diagnosis = diagnosed(|run| {
        locked(run, 7.0);
        steal(run);
    });
    let first = &diagnosis.found[0];
    assert_eq!(first.finding.name, "db-lock-waits");
    let impact = first.impact().unwrap();
    assert!((impact.share - 0.7).abs() < 1e-9, "{impact:?}");
    assert!(place(&diagnosis, "steal") > 0);
    assert_eq!(diagnosis.answer.names, Names::Bottleneck);
    assert_eq!(diagnosis.answer.text, "Database sessions wait for locks: 70% of the latency of a transaction.");
}

#[test]
fn a_resource_that_the_load_does_not_wait_for_is_information() {
    let diagnosis = diagnosed(|run| {
        locked(run, 7.0);
        busy_disk(run);
    });
    let disk = &diagnosis.found[place(&diagnosis, "disk-saturated")];
    assert_eq!((disk.kind(), disk.severity()), (Kind::Information, Severity::Info));
    // Without a load that is known to wait for something else, it is the problem.
    let alone = diagnosed(busy_disk);
    let disk = &alone.found[place(&alone, "disk-saturated")];
    assert_eq!((disk.kind(), disk.severity()), (Kind::Problem, Severity::Warning));
    assert_eq!(alone.answer.finding.as_deref(), Some("disk-saturated"));
}

#[test]
fn where_nothing_is_wrong_the_answer_says_what_is_busy() {
    let diagnosis = diagnosed(|run| {
        for second in 0..30 {
            let t = run.at(f64::from(second) + 1.0);
            run.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, 20.0).f64(cpu::idle, 80.0);
        }
    });
    assert_eq!((diagnosis.answer.names, diagnosis.answer.finding), (Names::Nothing, None));
    assert_eq!(diagnosis.answer.text, "No bottleneck is seen.");
    assert_eq!(diagnosis.answer.detail, "Mean use: CPU 20% (at most 20%).");
}

#[test]
fn parts_that_findings_name_are_parts_of_a_latency() {
    let runs = Runs::new();
    let known: Vec<&str> = fenxi_analyze::KINDS.iter().map(|kind| kind.name).collect();
    let all = findings(runs.engine().store()).unwrap();
    assert_eq!(all.len(), SHIPPED_FINDINGS.len());
    for finding in &all {
        for part in &finding.parts {
            assert!(known.contains(&part.as_str()), "{}: `{part}` is none of {known:?}", finding.name);
        }
        for name in &finding.explains {
            assert!(all.iter().any(|other| other.name == *name), "{}: there is no finding `{name}`", finding.name);
        }
    }
}
