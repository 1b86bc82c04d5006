//! Where the time of transactions went, by hand calculation over made-up runs.

use fenxi_compare::{Chosen, Explained, Group, Request, SideBySide, Split};
use fenxi_model::catalog::{
    cgroup, cpu, db, db_pool, db_session, db_setting, db_wait, disk, load, process, query, sched,
};

use crate::runs::{Made, Runs};

/// A load of 1000 transactions of 10 ms a second: ten of them at any moment. Its first 5 s of 25 have no load.
fn load(run: &mut Made) {
    for second in 5..25 {
        let t = run.at(f64::from(second) + 1.0);
        let mut row = run.rows.row(&load::TABLE, t, 1.0);
        row.str(load::generator, "fenxi").f64(load::transactions_per_s, 1000.0).f64(load::latency_mean_ms, 10.0);
    }
}

/// A process in each second: percent of one CPU in user code, in the kernel, in the run queue.
fn process(run: &mut Made, (pid, ppid, comm, command): (i64, i64, &str, &str), [usr, sys, queue]: [f64; 3]) {
    for second in 0..25 {
        let t = run.at(f64::from(second) + 1.0);
        let mut row = run.rows.row(&process::TABLE, t, 1.0);
        row.i64(process::pid, pid).i64(process::ppid, ppid).str(process::comm, comm).str(process::command, command);
        row.f64(process::usr, usr)
            .f64(process::sys, sys)
            .f64(process::cpu, usr + sys)
            .f64(process::run_queue_wait, queue);
    }
}

/// A PostgreSQL server with one session: 1.5 CPUs in user code, 0.5 in the kernel, 1 s/s in the run queue.
fn postgres(run: &mut Made) {
    process(run, (100, 1, "postgres", "/usr/lib/postgresql/15/bin/postgres -D /data"), [5.0, 5.0, 1.0]);
    process(run, (101, 100, "postgres", "postgres: checkpointer "), [50.0, 50.0, 10.0]);
    process(run, (102, 100, "postgres", "postgres: 15/main: autovacuum worker shop"), [90.0, 0.0, 70.0]);
    process(run, (110, 100, "postgres", "postgres: app shop 127.0.0.1(4711) SELECT"), [100.0, 50.0, 60.0]);
    process(run, (111, 100, "postgres", "postgres: app shop [local] idle in transaction"), [50.0, 0.0, 40.0]);
}

/// Waits that samples of sessions saw, by class.
fn waits(run: &mut Made, server: &str, measured: &str, kind: &str, times: &[(&str, f64)]) {
    for second in 0..25 {
        let t = run.at(f64::from(second) + 1.0);
        for (activity, time) in times {
            let mut row = run.rows.row(&db_wait::TABLE, t, 1.0);
            row.str(db_wait::server, server).str(db_wait::activity, *activity).str(db_wait::kind, kind);
            row.str(db_wait::wait_event, *activity).str(db_wait::measured, measured).f64(db_wait::time, *time);
        }
    }
}

fn samples(run: &mut Made, server: &str, commits: f64) {
    for second in 0..25 {
        let t = run.at(f64::from(second) + 1.0);
        let mut row = run.rows.row(&db::TABLE, t, 1.0);
        row.str(db::server, server).f64(db::samples, 10.0).f64(db::commits_per_s, commits);
    }
}

fn explained(fill: impl FnOnce(&mut Made)) -> Split {
    let mut runs = Runs::new();
    runs.add("r", 25.0, fill);
    Explained::of(&runs.engine(), ["r"], "all").unwrap().split.unwrap()
}

/// Parts in milliseconds, to the microsecond, and how each was measured.
fn parts(split: &Split) -> Vec<(&str, f64, &str)> {
    let of = |p: &fenxi_compare::Part| (p.name, (p.means[0].unwrap() * 1e3).round() / 1e3, measured(p));
    fn measured(p: &fenxi_compare::Part) -> &'static str {
        match p.measured[0].as_deref() {
            None => "",
            Some("os") => "os",
            Some("sampled") => "sampled",
            Some("server") => "server",
            Some("exact") => "exact",
            Some("driver") => "driver",
            Some("exact, divided as sampled") => "exact/sampled",
            Some(other) => panic!("{other}"),
        }
    }
    let found: Vec<_> = split.parts.iter().map(of).collect();
    let sum: f64 = split.parts.iter().map(|p| p.means[0].unwrap()).sum();
    assert!((sum - split.whole.means[0].unwrap()).abs() < 1e-9, "{found:?} of {:?}", split.whole.means);
    found
}

#[test]
fn the_servers_processes_count_and_nothing_else_that_runs() {
    let found = |bystanders: bool| {
        explained(|run| {
            load(run);
            postgres(run);
            process(run, (7, 1, "fenxi", "fenxi load run"), [30.0, 10.0, 5.0]);
            if bystanders {
                process(run, (500, 1, "gzip", "gzip -9"), [400.0, 100.0, 900.0]);
                run.cpu(95.0, 0.0, 0, 25);
                for second in 0..25 {
                    let t = run.at(f64::from(second) + 1.0);
                    let mut row = run.rows.row(&disk::TABLE, t, 1.0);
                    row.str(disk::device, "sda").f64(disk::writes_per_s, 9000.0).f64(disk::write_await_ms, 50.0);
                    run.rows.row(&sched::TABLE, t, 1.0).f64(sched::run_queue_wait, 30.0).f64(sched::cpus_online, 4.0);
                }
            }
        })
    };
    let alone = found(false);
    let expected = [
        ("on CPU, user", 1.5, "os"),
        ("on CPU, system", 0.5, "os"),
        ("run queue", 1.0, "os"),
        ("other (residual)", 7.0, ""),
    ];
    assert_eq!(parts(&alone), expected);
    assert_eq!(parts(&found(true)), expected);
    let says = "what the server's sessions waited for is unknown; record with `--db URL`";
    assert!(alone.notes.iter().any(|note| note.starts_with(says)), "{:#?}", alone.notes);
}

/// An idle process has no row: a server whose first process rests while the load runs is known by what was seen before, or was named.
#[test]
fn a_server_whose_first_process_rests_is_one_server() {
    let found = |seen_before: bool| {
        explained(|run| {
            load(run);
            process(run, (110, 100, "postgres", "postgres"), [100.0, 50.0, 60.0]);
            process(run, (111, 100, "postgres", "postgres"), [50.0, 0.0, 40.0]);
            waits(run, "s", "os", "client", &[("cpu", 2.0), ("run queue", 1.0)]);
            samples(run, "s", 1000.0);
            if seen_before {
                let t = run.at(1.0);
                let mut row = run.rows.row(&process::TABLE, t, 1.0);
                row.i64(process::pid, 100).i64(process::ppid, 1).str(process::comm, "postgres");
            } else {
                let mut row = run.rows.row(&db_setting::TABLE, run.begin.start, 1.0);
                row.str(db_setting::server, "s").str(db_setting::name, "pid").str(db_setting::origin, "server");
                row.text(db_setting::value, "100");
            }
        })
    };
    for seen_before in [true, false] {
        let split = found(seen_before);
        let expected = [("on CPU, user", 1.5, "os"), ("on CPU, system", 0.5, "os"), ("run queue", 1.0, "os")];
        assert_eq!(parts(&split)[..3], expected, "{seen_before}: {:#?}", split.notes);
    }
}

#[test]
fn waits_are_those_of_client_sessions_and_os_beats_samples() {
    let split = explained(|run| {
        load(run);
        postgres(run);
        samples(run, "localhost:5432", 990.0);
        let seen = [("lock", 4.0), ("commit", 1.0), ("cpu", 0.3), ("protocol", 0.4), ("idle", 50.0)];
        waits(run, "localhost:5432", "sampled", "client", &seen);
        waits(run, "localhost:5432", "sampled", "background", &[("commit", 9.0), ("pacing", 1.0)]);
        waits(run, "localhost:5432", "os", "client", &[("cpu", 2.0), ("run queue", 1.2)]);
        waits(run, "localhost:5432", "server", "client", &[("commit", 1.1)]);
        // Another server, which the load does not ask.
        samples(run, "localhost:9999", 3.0);
        waits(run, "localhost:9999", "sampled", "client", &[("lock", 30.0), ("user io", 8.0)]);
    });
    let expected = [
        ("on CPU, user", 1.5, "os"),
        ("on CPU, system", 0.5, "os"),
        ("run queue", 1.2, "os"),
        ("commit", 1.1, "server"),
        ("lock", 4.0, "sampled"),
        ("other (residual)", 1.7, ""),
    ];
    assert_eq!(parts(&split), expected, "{:#?}", split.notes);
}

/// Activity of one session that samples saw, ten times a second.
fn session(run: &mut Made, (pid, application): (i64, &str), activity: &str) {
    for tenth in 0..250 {
        let t = run.at(f64::from(tenth) / 10.0);
        let mut row = run.rows.row(&db_session::TABLE, t, 0.1);
        row.str(db_session::server, "s").i64(db_session::session, pid).i64(db_session::pid, pid);
        row.str(db_session::kind, "client backend").str(db_session::application, application);
        row.str(db_session::activity, activity);
    }
}

#[test]
fn who_else_is_connected_is_no_part_of_the_latency_nor_is_its_cpu_time() {
    let split = explained(|run| {
        load(run);
        postgres(run);
        samples(run, "s", 1000.0);
        waits(run, "s", "sampled", "client", &[("lock", 4.0), ("client", 2.0)]);
        waits(run, "s", "os", "client", &[("cpu", 2.0), ("run queue", 1.0)]);
        session(run, (110, "fenxi"), "lock");
        // Copies a table, and does as much as the load.
        session(run, (111, "psql"), "client");
        session(run, (111, "psql"), "lock");
    });
    let expected = [
        ("on CPU, user", 1.125, "os"),
        ("on CPU, system", 0.375, "os"),
        ("run queue", 0.6, "os"),
        ("lock", 2.0, "sampled"),
        ("other (residual)", 5.9, ""),
    ];
    assert_eq!(parts(&split), expected, "{:#?}", split.notes);
}

#[test]
fn who_waits_in_a_pooler_is_with_no_server() {
    let pooled = |transactions: f64| {
        explained(|run| {
            load(run);
            samples(run, "s", 1000.0);
            waits(run, "s", "sampled", "client", &[("lock", 2.0)]);
            for second in 0..25 {
                let t = run.at(f64::from(second) + 1.0);
                let mut row = run.rows.row(&db_pool::TABLE, t, 1.0);
                row.str(db_pool::server, "p:6432").str(db_pool::database, "shop");
                row.f64(db_pool::transactions_per_s, transactions).f64(db_pool::wait_time, 6.0);
                // Those of each user are in it.
                let mut row = run.rows.row(&db_pool::TABLE, t, 1.0);
                row.str(db_pool::server, "p:6432").str(db_pool::database, "shop").str(db_pool::user, "web");
            }
        })
    };
    let expected = [("waiting in a pool", 6.0, "server"), ("lock", 2.0, "sampled"), ("other (residual)", 2.0, "")];
    assert_eq!(parts(&pooled(1000.0)), expected);
    // The load does not go through it.
    assert_eq!(parts(&pooled(20.0))[0], ("lock", 2.0, "sampled"));
}

#[test]
fn a_class_that_nobody_was_in_at_times_counts_those_as_none() {
    let split = explained(|run| {
        load(run);
        samples(run, "s", 1000.0);
        // In 4 of the 20 s of the load, and before it, which does not count.
        for second in [0, 1, 2, 6, 10, 14, 18] {
            let t = run.at(f64::from(second) + 1.0);
            let mut row = run.rows.row(&db_wait::TABLE, t, 1.0);
            row.str(db_wait::server, "s").str(db_wait::activity, "lock").str(db_wait::measured, "sampled");
            row.f64(db_wait::time, 10.0);
        }
    });
    assert_eq!(parts(&split)[0], ("lock", 2.0, "sampled"));
}

#[test]
fn statements_measured_inside_the_server_are_divided_as_samples_say() {
    let fill = |run: &mut Made, sampled: bool| {
        load(run);
        for second in 5..25 {
            let t = run.at(f64::from(second) + 1.0);
            for (digest, preempted) in [("a", None), ("a", Some("yes")), ("b", None)] {
                let mut row = run.rows.row(&query::TABLE, t, 1.0);
                row.str(query::server, "postgres:5432").str(query::digest, digest).str(query::preempted, preempted);
                row.f64(query::queries, 1000.0).f64(query::mean_us, 4000.0).f64(query::cpu_us, 500.0);
                row.f64(query::run_queue_us, 250.0).f64(query::block_io_us, 2000.0).f64(query::lock_us, 750.0);
                row.f64(query::network_us, 0.0).f64(query::other_us, 500.0);
            }
        }
        if sampled {
            samples(run, "s", 1000.0);
            waits(run, "s", "sampled", "client", &[("commit", 3.0), ("user io", 1.0), ("lock", 2.0)]);
        }
    };
    let expected = [
        ("on CPU", 1.0, "exact"),
        ("run queue", 0.5, "exact"),
        ("block I/O", 4.0, "exact"),
        ("locks and latches", 1.5, "exact"),
        ("other waits", 1.0, "exact"),
        ("other (residual)", 2.0, ""),
    ];
    assert_eq!(parts(&explained(|run| fill(run, false))), expected);
    let expected = [
        ("on CPU", 1.0, "exact"),
        ("run queue", 0.5, "exact"),
        ("user I/O", 1.0, "exact/sampled"),
        ("commit", 3.0, "exact/sampled"),
        ("lock", 1.5, "exact/sampled"),
        ("other waits", 1.0, "exact"),
        ("other (residual)", 2.0, ""),
    ];
    assert_eq!(parts(&explained(|run| fill(run, true))), expected);
}

#[test]
fn a_quota_is_told_from_the_run_queue_that_it_fills() {
    let split = explained(|run| {
        load(run);
        process(run, (100, 1, "postgres", "postgres -D /data"), [0.0, 0.0, 0.0]);
        process(run, (110, 100, "postgres", "postgres: app shop [local] SELECT"), [40.0, 10.0, 750.0]);
        for second in 0..25 {
            let t = run.at(f64::from(second) + 1.0);
            run.rows.row(&sched::TABLE, t, 1.0).f64(sched::cpus_online, 2.0);
            for (name, cpu, throttled) in [("/", 300.0, 0.0), ("/box", 51.0, 150.0), ("/batch", 200.0, 180.0)] {
                let mut row = run.rows.row(&cgroup::TABLE, t, 1.0);
                row.str(cgroup::cgroup, name).f64(cgroup::cpu, cpu).f64(cgroup::throttled_time, throttled);
            }
        }
    });
    // 8 threads are runnable on 2 CPUs whose run queues are throttled three quarters of the time.
    let expected = [
        ("on CPU, user", 0.4, "os"),
        ("on CPU, system", 0.1, "os"),
        ("run queue", 1.5, "os"),
        ("throttled", 6.0, "os"),
        ("other (residual)", 2.0, ""),
    ];
    assert_eq!(parts(&split), expected, "{:#?}", split.notes);
}

#[test]
fn the_server_that_a_poller_named_is_taken_and_threads_of_the_background_are_said() {
    let split = explained(|run| {
        load(run);
        process(run, (300, 1, "mariadbd", "/usr/sbin/mariadbd"), [200.0, 100.0, 50.0]);
        process(run, (400, 1, "mariadbd", "/usr/sbin/mariadbd --port=2"), [600.0, 100.0, 50.0]);
        let mut row = run.rows.row(&db_setting::TABLE, run.begin.start, 1.0);
        row.str(db_setting::server, "s").str(db_setting::name, "pid").str(db_setting::origin, "server");
        row.text(db_setting::value, "300");
    });
    assert_eq!(parts(&split)[0], ("on CPU, user", 2.0, "os"));
    assert!(split.notes.iter().any(|note| note.contains("background threads")), "{:#?}", split.notes);
}

#[test]
fn the_drivers_lag_and_waits_for_connections_stand_before_the_servers_parts() {
    let split = explained(|run| {
        for second in 0..25 {
            let t = run.at(f64::from(second) + 1.0);
            let mut row = run.rows.row(&load::TABLE, t, 1.0);
            row.str(load::generator, "fenxi").f64(load::transactions_per_s, 100.0).f64(load::latency_mean_ms, 20.0);
            row.f64(load::offered_per_s, 100.0).f64(load::lag_ms, 0.5).f64(load::queue_length, 1.25);
        }
        run.result("client_cpu_per_transaction", 0.0001, "s", "lower");
        run.result("server_cpu_per_transaction", 0.002, "s", "lower");
    });
    // 1.25 are queued at a rate of 100 a second: 12.5 ms, of which 0.5 are lag.
    let expected = [
        ("driver lag", 0.5, "driver"),
        ("waiting for a connection", 12.0, "driver"),
        ("driver on CPU", 0.1, "driver"),
        ("on CPU", 2.0, "os"),
        ("other (residual)", 5.4, ""),
    ];
    assert_eq!(parts(&split), expected);
    let says = "the residual holds the network";
    assert!(split.notes.iter().any(|note| note == says), "{:#?}", split.notes);
}

#[test]
fn the_planted_part_is_the_largest_change_of_a_comparison() {
    let mut runs = Runs::new();
    for i in 0..10 {
        let (name, lock) = if i < 5 { ("a", 0.5) } else { ("b", 6.0) };
        runs.add(&format!("{name}{i}"), 25.0, |run| {
            run.tag("g", name);
            let off = [0.0, 0.1, -0.1, 0.05, -0.05][i % 5];
            for second in 0..25 {
                let t = run.at(f64::from(second) + 1.0);
                let mut row = run.rows.row(&load::TABLE, t, 1.0);
                row.str(load::generator, "fenxi").f64(load::transactions_per_s, 1000.0);
                row.f64(load::latency_mean_ms, 4.0 + lock + off);
                run.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::idle, 50.0);
            }
            postgres(run);
            samples(run, "s", 1000.0);
            waits(run, "s", "sampled", "client", &[("lock", lock + off), ("commit", 0.7)]);
        });
    }
    let engine = runs.engine();
    let chosen = Chosen { by: &[], window: "all" };
    let [a, b] = ["g=a", "g=b"].map(|tag| Group::read(&engine, tag, chosen).unwrap());
    let found = SideBySide::of(&a, &b, Request::default()).unwrap();
    let split = found.split.unwrap();
    let change = |p: &fenxi_compare::Part| p.change.as_ref().unwrap().value.abs();
    let largest = split.parts.iter().max_by(|x, y| change(x).total_cmp(&change(y))).unwrap();
    assert_eq!(largest.name, "lock");
    let [low, high] = largest.change.as_ref().unwrap().interval.unwrap();
    assert!((largest.change.as_ref().unwrap().value - 5.5).abs() < 1e-9 && low > 5.0 && high < 6.0, "{low} {high}");
    let residual = split.parts.last().unwrap();
    assert!(residual.shares.iter().all(|share| share.unwrap().abs() < 0.15), "{residual:?}");
}

#[test]
fn runs_without_transactions_or_command_explain_nothing() {
    let mut runs = Runs::new();
    runs.add("r", 10.0, |run| run.cpu(50.0, 0.0, 0, 10));
    let found = Explained::of(&runs.engine(), ["r"], "auto").unwrap();
    assert!(found.split.is_none() && found.json_lines().is_empty());
    assert!(Explained::of(&runs.engine(), ["nothing"], "auto").is_err());
}
