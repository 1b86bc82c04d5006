//! Every version of PostgreSQL: each reading succeeds, and shows what its version has. Those that are installed or that
//! `scripts/postgres-versions` fetched are run; of all of them saved answers are played.

use std::path::{Path, PathBuf};

use fenxi_load::schedule::Schedule;
use fenxi_model::{
    Rows,
    catalog::{db, db_checkpoint, db_index, db_io, db_setting, db_statement, db_table, db_wait, db_wal, note},
};
use fenxi_wire::{Dialect, Mode};

use crate::{
    observe::{amount, begin},
    saved::{self, Listener},
    server::{Server, as_user, postgres_programs, quietly, skipped},
};

/// Versions that are tried.
const VERSIONS: &[u32] = &[12, 13, 14, 15, 16, 17, 18];

/// Arguments of all servers.
pub const MORE: [&str; 4] = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "track_io_timing=on"];

/// Where the script puts them.
pub fn fetched(version: u32) -> Option<PathBuf> {
    let cache = std::env::var_os("FENXI_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/fenxi")))?;
    Some(cache.join("postgresql").join(version.to_string())).filter(|folder| folder.join("bin/postgres").exists())
}

/// A copy that the server's own user may read: a home folder may be closed to others. Links cost nothing where they can be.
pub fn readable(programs: &Path, folder: &Path) -> PathBuf {
    let to = folder.join("programs");
    let copy = |how: &str| quietly(std::process::Command::new("cp").arg(how).arg(programs).arg(&to));
    assert!(copy("-rl") || copy("-r"));
    assert!(quietly(std::process::Command::new("chmod").arg("755").arg(folder)));
    assert!(quietly(as_user("postgres", "/usr/bin/test").arg("-x").arg(to.join("bin/postgres"))));
    to
}

#[test]
fn every_version_is_read_without_a_refusal() {
    std::thread::scope(|scope| {
        for version in VERSIONS {
            scope.spawn(move || of_version(*version, &MORE, &mut |server| is_read(server, *version)));
        }
    });
}

#[test]
fn saved_answers_of_every_version_are_read_alike() {
    std::thread::scope(|scope| {
        for version in VERSIONS {
            scope.spawn(move || {
                let (port, done) = saved::played(&format!("postgres-{version}"), Dialect::Postgres);
                let mut observation = begin(&format!("postgres://postgres@127.0.0.1:{port}/postgres"), 20).unwrap();
                observation.go_on(3.2);
                // How often our sessions ask differs between a recording and its replay.
                is_right(&observation.end(), *version, done, 0.97);
            });
        }
    });
}

/// Does something with a server of a version: one that was fetched, or the system's own. Reports it where there is none.
pub fn of_version(version: u32, more: &[&str], with: &mut dyn FnMut(&Server)) {
    match fetched(version) {
        Some(programs) => {
            let folder = tempfile::tempdir().unwrap();
            let bin = readable(&programs, folder.path()).join("bin");
            with(&Server::postgres_of(&bin, &bin.join("postgres"), more));
        }
        None if is_installed(version) => with(&Server::postgres_with(more).unwrap()),
        None => skipped(&format!("PostgreSQL {version}"), "scripts/postgres-versions has not fetched it"),
    }
}

/// Whether it is the system's own.
fn is_installed(version: u32) -> bool {
    postgres_programs().is_some_and(|bin| bin.parent().is_some_and(|of| of.ends_with(version.to_string())))
}

fn is_read(server: &Server, version: u32) {
    server.client("postgres").run("CREATE EXTENSION pg_stat_statements").unwrap();
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    // Up to 14 statistics are gathered by a separate process, and are late.
    let late = if version < 15 { 2.5 } else { 1.2 };
    let listener = saved::is_wanted().then(|| Listener::before(server));
    let url = listener.as_ref().map_or_else(|| server.url("postgres"), |listener| listener.url(server));
    let mut observation = begin(&url, 20).unwrap();
    let outcome = server.run(program, Mode::Prepared, Schedule::Closed);
    let done = (outcome.total.tally.transactions + outcome.drained.transactions) as f64;
    observation.go_on(late);
    let rows = observation.end();
    if let Some(listener) = listener {
        saved::save(&format!("postgres-{version}"), done, &listener.exchanges(Dialect::Postgres));
    }
    is_right(&rows, version, done, 1.0);
}

/// Rows of an observation during which so many transactions were done, of which at least this share is counted.
fn is_right(rows: &Rows, version: u32, done: f64, share: f64) {
    let notes = rows.of(&note::TABLE);
    let refused: Vec<_> = notes
        .iter()
        .flat_map(|notes| (0..notes.n_rows()).filter_map(|row| notes.str(row, note::message)))
        // Which plans are looked at depends on when statements were seen, so that not all answers about them are saved.
        .filter(|message| !message.starts_with("plans of some statements"))
        .filter(|message| {
            message.contains(" read: ") || message.contains(" saved to: ") || message.contains("unexpectedly")
        })
        .collect();
    assert!(refused.is_empty(), "{version}: {refused:?}");
    let statements = rows.of(&db_statement::TABLE).unwrap();
    let calls = amount(rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
        statements.str(row, db_statement::statement).is_some_and(|text| text.starts_with("update pgbench_accounts"))
    });
    assert!((calls - done).abs() < 0.01, "{version}: {calls} of {done}");
    let databases = rows.of(&db::TABLE).unwrap();
    let commits =
        amount(rows, &db::TABLE, (db::dt, db::commits_per_s), |row| databases.str(row, db::database).is_none());
    assert!((share * done..done + 400.0).contains(&commits), "{version}: {commits} commits of {done}");
    let has = [
        (db_wait::TABLE.name, rows.of(&db_wait::TABLE).is_some(), true),
        (db_table::TABLE.name, rows.of(&db_table::TABLE).is_some(), true),
        (db_index::TABLE.name, rows.of(&db_index::TABLE).is_some(), true),
        (db_setting::TABLE.name, rows.of(&db_setting::TABLE).is_some(), true),
        (db_checkpoint::TABLE.name, rows.of(&db_checkpoint::TABLE).is_some(), true),
        (db_wal::TABLE.name, rows.of(&db_wal::TABLE).is_some(), version >= 14),
        (db_io::TABLE.name, rows.of(&db_io::TABLE).is_some(), version >= 16),
    ];
    for (table, is, expected) in has {
        assert_eq!(is, expected, "{version}: {table}");
    }
    // Time by the server itself exists from 14 on.
    let server_rows: Vec<_> =
        (0..databases.n_rows()).filter(|row| databases.str(*row, db::database).is_none()).collect();
    let has_time = server_rows.iter().any(|row| databases.f64(*row, db::db_time).is_some());
    assert_eq!(has_time, version >= 14, "{version}");
}
