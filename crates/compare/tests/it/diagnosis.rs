//! The answer first: what is found, in the order of what it explains.

use fenxi_compare::{Diagnosis, Names};
use fenxi_model::catalog::{
    cpu, db, db_wait, disk, load, lock, mem, metric, net, pressure, process, sched, stack, thread_wait,
};
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
fn what_the_rest_of_a_run_has_too_is_no_answer_of_a_part() {
    let mut runs = Runs::new();
    runs.add("always", 30.0, |run| locked(run, 7.0));
    runs.add("stolen", 30.0, |run| {
        locked(run, 7.0);
        for second in 10..20 {
            let t = run.at(f64::from(second) + 1.0);
            run.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::steal, 40.0).f64(cpu::usr, 10.0).f64(cpu::idle, 50.0);
        }
    });
    let engine = runs.engine();
    let part = |run: usize, from: f64, to: f64| Scope::of([runs.ids[run].clone()]).between(Some(from), Some(to));
    let of = |run: usize| {
        let rest = [part(run, 0.0, 10.0), part(run, 20.0, 30.0)];
        Diagnosis::of_part(&engine, &part(run, 10.0, 20.0), &rest).unwrap()
    };
    let always = of(0);
    assert!(always.elsewhere.as_ref().unwrap().contains("db-lock-waits"), "{:?}", always.elsewhere);
    assert_eq!((always.answer.names, always.answer.finding.as_deref()), (Names::Unknown, None));
    assert!(always.answer.text.contains("rest of the run"), "{}", always.answer.text);
    assert!(always.answer.detail.starts_with("Database sessions wait for locks: "), "{}", always.answer.detail);
    let stolen = of(1);
    assert_eq!(stolen.answer.finding.as_deref(), Some("steal"), "{}", stolen.answer.text);
    assert!(place(&stolen, "steal") < place(&stolen, "db-lock-waits"));
    let alone = Diagnosis::of(&engine, &part(0, 10.0, 20.0)).unwrap();
    assert_eq!((alone.answer.finding.as_deref(), alone.elsewhere), (Some("db-lock-waits"), None));
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
    assert_eq!((diagnosis.answer.names, diagnosis.answer.finding), (Names::Unknown, None));
    assert_eq!(diagnosis.answer.text, "Nothing is full of what was seen.");
    let detail =
        "Mean use: CPU 20% (at most 20%). Not seen: memory, disks, the network, waits; `fenxi record` sees them.";
    assert_eq!(diagnosis.answer.detail, detail);
}

/// A process and its threads in each second; `wait` is what a thread is at.
fn works(run: &mut Made, pid: i64, comm: &str, cpu_pct: f64, wait: &str) {
    for second in 0..30 {
        let t = run.at(f64::from(second) + 1.0);
        let mut row = run.rows.row(&process::TABLE, t, 1.0);
        row.i64(process::pid, pid).str(process::comm, comm).f64(process::cpu, cpu_pct).f64(process::threads, 2.0);
        let mut row = run.rows.row(&thread_wait::TABLE, t, 1.0);
        row.i64(thread_wait::pid, pid).str(thread_wait::comm, comm).str(thread_wait::wait, wait);
        row.f64(thread_wait::threads, 1.0);
    }
}

/// Memory, disks and the network, none of them used much.
fn the_rest(run: &mut Made) {
    for second in 0..30 {
        let t = run.at(f64::from(second) + 1.0);
        run.rows.row(&mem::TABLE, t, 1.0).f64(mem::total_bytes, 16e9).f64(mem::used_bytes, 4e9);
        let mut row = run.rows.row(&disk::TABLE, t, 1.0);
        row.str(disk::device, "sda").str(disk::class, "disk").f64(disk::util, 3.0).f64(disk::queue_depth, 0.1);
        run.rows.row(&net::TABLE, t, 1.0).str(net::interface, "eth0").f64(net::rx_bytes_per_s, 900.0);
    }
}

/// The states of all CPUs in each second.
fn cpus(run: &mut Made, usr: f64, nice: f64) {
    for second in 0..30 {
        let t = run.at(f64::from(second) + 1.0);
        run.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, usr).f64(cpu::nice, nice).f64(cpu::idle, 100.0 - usr - nice);
    }
}

#[test]
fn that_there_is_no_bottleneck_is_said_only_where_all_was_seen() {
    let whole = diagnosed(|run| {
        cpus(run, 20.0, 0.0);
        the_rest(run);
        works(run, 7, "gzip", 20.0, "run");
    });
    assert_eq!(whole.answer.names, Names::Nothing);
    assert_eq!(whole.answer.text, "No bottleneck is seen.");
    assert!(whole.answer.detail.contains("Most CPU time: gzip (process 7) 0.20 CPU."), "{:?}", whole.answer);
    let without_waits = diagnosed(|run| {
        cpus(run, 20.0, 0.0);
        the_rest(run);
    });
    assert_eq!(without_waits.answer.names, Names::Unknown);
    assert!(without_waits.answer.detail.ends_with("Not seen: waits; `fenxi record` sees them."));
}

#[test]
fn full_cpus_are_said_with_who_fills_them_at_which_priority() {
    let nice = diagnosed(|run| {
        cpus(run, 14.0, 84.0);
        for second in 0..30 {
            let t = run.at(f64::from(second) + 1.0);
            run.rows.row(&sched::TABLE, t, 1.0).f64(sched::runnable, 2.0).f64(sched::cpus_online, 2.0);
        }
        the_rest(run);
        works(run, 7, "python3", 168.0, "run");
    });
    let text = "The CPUs are full (98.0%), 86% of it low priority (nice): python3 (process 7) 1.68 CPU.";
    assert!(nice.answer.text.starts_with(text), "{:?}", nice.answer);
    assert_ne!(nice.answer.names, Names::Bottleneck);
}

#[test]
fn one_full_cpu_of_a_list_that_leaves_cpus_out_is_said_and_is_no_mean() {
    let listed = diagnosed(|run| {
        for (number, busy) in [("0", 1.0), ("32", 12.0), ("48", 100.0)] {
            for second in 0..2 {
                let t = run.at(f64::from(second) + 1.0);
                let mut row = run.rows.row(&cpu::TABLE, t, 1.0);
                row.str(cpu::cpu, number).f64(cpu::usr, busy).f64(cpu::idle, 100.0 - busy);
            }
        }
    });
    assert_eq!(listed.answer.text, "CPU 48 is full (100%); the list has 3 of at least 49 CPUs.");
    assert!(!listed.answer.detail.contains("CPU 38%"), "{:?}", listed.answer);
}

#[test]
fn a_symptom_names_who_had_most_of_it_and_what_it_is_not() {
    let stalled = diagnosed(|run| {
        cpus(run, 98.0, 0.0);
        works(run, 7, "gzip", 70.0, "run");
        works(run, 8, "gzip", 70.0, "run");
        works(run, 9, "python3", 60.0, "run");
        for second in 0..30 {
            let t = run.at(f64::from(second) + 1.0);
            run.rows.row(&pressure::TABLE, t, 1.0).str(pressure::resource, "cpu").f64(pressure::some, 60.0);
            let mut row = run.rows.row(&stack::TABLE, t, 1.0);
            row.str(stack::comm, "python3").str(stack::event, "on-cpu").str(stack::stack, "main;slow_parse");
            row.f64(stack::samples, 9.0);
        }
    });
    assert_eq!(stalled.answer.finding.as_deref(), Some("cpu-pressure"));
    let text = "Most CPU time: gzip (2 processes) 70.0%, python3 (process 9) 30.0%. \
                On CPU: slow_parse of python3 100%; 270 samples.";
    assert!(stalled.answer.text.ends_with(text), "{:?}", stalled.answer);
    let detail = &stalled.answer.detail;
    assert!(detail.contains("Looked for and not found: time that the hypervisor took"), "{detail}");
    assert!(detail.contains("Not looked for, as it was not recorded: CPUs that a program may not use"), "{detail}");
    assert!(!detail.contains("Most CPU time"), "{detail}");
}

#[test]
fn what_has_nothing_to_judge_by_says_what_it_shows() {
    let numbers = diagnosed(|run| {
        for (name, value) in [("perf.insn_per_cycle", 0.34), ("perf.cycles", 3.2e9)] {
            run.rows.row(&metric::TABLE, None, None).str(metric::name, name).f64(metric::value, value);
        }
    });
    assert_eq!(numbers.answer.names, Names::Unknown);
    let text = "Nothing here shows a bottleneck. It shows: perf.insn_per_cycle 0.34, perf.cycles 3.20 G.";
    assert_eq!(numbers.answer.text, text);
    let locks = diagnosed(|run| {
        let mut row = run.rows.row(&lock::TABLE, None, None);
        row.str(lock::event, "mutex block").str(lock::lock, "libc.so.1`libc_malloc_lock");
        row.str(lock::caller, "libstdc++.so.6`_Znwm+0x2b").f64(lock::events, 4000.0).f64(lock::mean_us, 12_400.0);
    });
    assert_eq!(locks.answer.finding.as_deref(), Some("malloc-locks"));
    assert!(locks.answer.detail.contains("libc_malloc_lock for 49.6 s"), "{:?}", locks.answer);
}

#[test]
fn what_the_recorder_did_is_never_the_problem() {
    let mut runs = Runs::new();
    runs.add("r", 30.0, |run| {
        cpus(run, 20.0, 0.0);
        run.end.ticks = 50;
        run.end.missed_ticks = 10;
    });
    let engine = runs.engine();
    let run = engine.store().select_one("r").unwrap();
    let missed = Diagnosis::of(&engine, &Scope::of([run])).unwrap();
    assert_eq!(missed.found[place(&missed, "missed-ticks")].kind(), Kind::Measurement);
    assert_eq!((missed.answer.names, missed.answer.finding), (Names::Unknown, None));
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
        for (name, _) in &finding.causes {
            assert!(all.iter().any(|other| other.name == *name), "{}: there is no cause `{name}`", finding.name);
        }
        for name in &finding.explains {
            assert!(all.iter().any(|other| other.name == *name), "{}: there is no finding `{name}`", finding.name);
        }
    }
}
