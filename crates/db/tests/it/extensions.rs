//! Sampled figures beside extensions that measure the same within the server: `pg_wait_sampling` looks at waits a hundred times
//! a second, `pg_stat_kcache` reads the kernel's accounting of each statement. Debian has both as packages.

use std::{path::Path, thread, time::Instant};

use fenxi_load::schedule::Schedule;
use fenxi_model::{
    Rows,
    catalog::{db_session, db_wait},
};
use fenxi_wire::Mode;

use crate::{
    observe::{amount, begin, places, time_in},
    server::{Server, postgres_programs, skipped},
};

/// A server with an extension in it; None where it is not installed.
fn server_with(extension: &str, more: &[&str]) -> Option<Server> {
    let library = postgres_programs()?.with_file_name("lib").join(format!("{extension}.so"));
    if !Path::new(&library).exists() {
        let package = extension.replace('_', "-");
        skipped(extension, &format!("it is not installed (Debian: postgresql-15-{package})"));
        return None;
    }
    let preload = format!("shared_preload_libraries=pg_stat_statements,{extension}");
    let server = Server::postgres_with(&[&["-c", &preload], more].concat())?;
    let mut client = server.client("postgres");
    client.run("CREATE EXTENSION pg_stat_statements").unwrap();
    client.run(&format!("CREATE EXTENSION {extension}")).unwrap();
    Some(server)
}

/// Sampled time of clients in waits of a class in the server's words.
fn sampled(rows: &Rows, class: &str) -> f64 {
    let waits = rows.of(&db_wait::TABLE).unwrap();
    amount(rows, &db_wait::TABLE, (db_wait::dt, db_wait::time), |row| {
        waits.str(row, db_wait::wait_class) == Some(class)
            && waits.str(row, db_wait::measured) == Some("sampled")
            && waits.str(row, db_wait::kind) == Some("client")
            && waits.str(row, db_wait::activity) != Some("idle in transaction")
    })
}

#[test]
fn shares_of_waits_are_those_of_pg_wait_sampling() {
    let Some(server) = server_with("pg_wait_sampling", &["-c", "pg_wait_sampling.profile_period=10"]) else { return };
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("postgres"), 100).unwrap();
    let mut client = server.client("postgres");
    client.run("SELECT pg_wait_sampling_reset_profile()").unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| server.client("postgres").run("SELECT pg_sleep(2)").unwrap());
        }
        let program = server.program("tpcb_like", &[("scale", "1")]);
        let mut plan = server.plan(program, Mode::Prepared, Schedule::Closed);
        plan.run.duration_s = 3.0;
        fenxi_load::engine::run(&plan, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    });
    observation.go_on(1.2);
    let rows = observation.end();
    // Only the clients of the load have a statement or waits for a lock.
    let looks = |class: &str| {
        let sql = format!(
            "SELECT coalesce(sum(count), 0)::bigint FROM pg_wait_sampling_profile WHERE event_type = '{class}' AND event IS NOT NULL"
        );
        server.number(&sql) as f64
    };
    let classes = ["Lock", "Timeout"];
    let theirs = classes.map(looks);
    let ours = classes.map(|class| sampled(&rows, class));
    let share = |of: [f64; 2]| of.map(|value| value / of.iter().sum::<f64>());
    let (theirs_share, ours_share) = (share(theirs), share(ours));
    assert!(theirs.iter().all(|looks| *looks > 50.0), "{theirs:?}");
    for (class, (ours, theirs)) in classes.iter().zip(ours_share.iter().zip(theirs_share)) {
        assert!((ours - theirs).abs() < 0.05, "{class}: {ours:.3}, and {theirs:.3} by pg_wait_sampling");
    }
}

#[test]
fn cpu_of_a_statement_is_that_of_pg_stat_kcache() {
    let Some(server) = server_with("pg_stat_kcache", &["-c", "jit=off"]) else { return };
    let mut observation = begin(&server.url("postgres"), 100).unwrap();
    // Most of these sessions end between two readings, and are known by their parent's figures.
    let began = Instant::now();
    for _ in 0..12 {
        let mut client = server.client("postgres");
        for _ in 0..5 {
            client.run("SELECT sum(i) FROM generate_series(1, 300000) AS s(i)").unwrap();
        }
    }
    let took = began.elapsed().as_secs_f64();
    observation.go_on(1.2);
    let rows = observation.end();
    let by_server = "SELECT (1e6 * sum(exec_user_time + exec_system_time))::bigint FROM pg_stat_kcache() k \
                     JOIN pg_stat_statements s USING (queryid) WHERE query LIKE '%generate_series%'";
    let used = server.number(by_server) as f64 / 1e6;
    let cpu = time_in(&rows, "cpu", "os");
    assert!(used > 0.5 && (0.93..1.25).contains(&(cpu / used)), "{cpu} s by the kernel, {used} s by pg_stat_kcache");
    // A sample cannot distinguish a CPU from the run queue, and how long a session was in it when it ended is unknown.
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let looks = places(&rows, &db_session::TABLE, |row| {
        sessions.str(row, db_session::activity) == Some("cpu")
            && sessions.str(row, db_session::statement).is_some_and(|text| text.contains("generate_series"))
    });
    let seen: f64 = looks.iter().filter_map(|row| sessions.f64(*row, db_session::dt)).sum();
    assert!(seen > 0.85 * used - 0.1 && seen < 1.1 * took + 0.2, "{seen} s seen in {took} s, {used} s used");
}
