//! A server with more clients than CPUs: samples of its sessions show a nearly idle database, the kernel a full one.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use fenxi_model::catalog::db;

use crate::{
    observe::{amount, begin, time_in},
    server::{Server, postgres_programs, quietly, skipped},
};

const CLIENTS: &str = "12";
const SECONDS: &str = "5";

/// A command on the first two CPUs only.
fn on_two(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0,1"]).arg(program);
    command
}

#[test]
fn pgbench_of_selects_fills_its_cpus_and_the_run_queue_where_samples_see_little() {
    let Some(server) = Server::postgres() else { return skipped("pgbench -S", "PostgreSQL is not installed") };
    let pgbench = postgres_programs().unwrap().join("pgbench");
    if !pgbench.exists() || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skipped("pgbench -S", "there is no pgbench, or no second CPU");
    }
    // Sessions are bound as their postmaster is.
    if !quietly(Command::new("taskset").args(["-a", "-c", "-p", "0,1"]).arg(server.child.id().to_string())) {
        return skipped("pgbench -S", "taskset does not work");
    }
    let port = server.port.to_string();
    let place = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
    assert!(quietly(Command::new(&pgbench).args(["-i", "-q", "-s", "5"]).args(place).arg("postgres")));
    let mut observation = begin(&server.url("postgres"), 50).unwrap();
    let began = Instant::now();
    let mut load = on_two(&pgbench);
    load.args(["-n", "-S", "-c", CLIENTS, "-j", "1", "-T", SECONDS]).args(place).arg("postgres");
    let mut load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while load.try_wait().unwrap().is_none() {
        observation.go_on(0.2);
    }
    let took = began.elapsed().as_secs_f64();
    observation.go_on(1.2);
    let rows = observation.end();
    let (cpu, queued) = (time_in(&rows, "cpu", "os") / took, time_in(&rows, "run queue", "os") / took);
    let sampled = amount(&rows, &db::TABLE, (db::dt, db::active_sampled), |row| {
        rows.of(&db::TABLE).is_some_and(|databases| databases.str(row, db::database).is_none())
    }) / took;
    // Client and server share two CPUs with whatever else runs here.
    assert!(queued > 1.0, "{cpu:.2} on CPU, {queued:.2} in the run queue, {sampled:.2} sampled");
    assert!((0.3..2.05).contains(&cpu), "{cpu:.2} on CPU, {queued:.2} in the run queue, {sampled:.2} sampled");
    assert!(sampled < 0.8 * (cpu + queued), "{cpu:.2} on CPU, {queued:.2} in the run queue, {sampled:.2} sampled");
}
