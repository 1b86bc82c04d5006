//! MySQL 8.0 and MariaDB 11.4, as `scripts/mysql-versions` fetched them: the same as of the MariaDB that is installed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use fenxi_wire::Dialect;

use crate::{
    mysql::{a_queue_for_a_row_has_its_root, a_row_is_waited_for, all_that_was_done_is_counted, is_counted},
    observe::begin,
    saved,
    server::{Server, as_user, free_port, quietly, skipped},
};

/// Where the script puts them.
fn fetched(name: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("FENXI_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/fenxi")))?;
    let found = Some(cache.join("mysql").join(name)).filter(|folder| folder.join("bin").exists());
    if found.is_none() {
        skipped(name, "scripts/mysql-versions has not fetched it");
    }
    found
}

/// A folder that the server's own user may read and write, with a copy of the programs.
fn folder_with(programs: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    assert!(quietly(Command::new("cp").arg("-r").arg(programs).arg(folder.path().join("programs"))));
    assert!(quietly(Command::new("chmod").arg("777").arg(folder.path())));
    folder
}

fn started(program: &str, folder: tempfile::TempDir, more: &[String]) -> Server {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let port = free_port();
    let mut command = as_user("mysql", at(program));
    command.args(["--no-defaults", "--bind-address=127.0.0.1", "--local-infile=1"]).env("TMPDIR", folder.path());
    command.args(["--innodb-flush-log-at-trx-commit=0", "--performance-schema=ON"]).arg(format!("--port={port}"));
    command.arg(format!("--datadir={}", at("data"))).arg(format!("--socket={}", at("my.sock"))).args(more);
    let server = Server::started("mysql", "root", port, command, folder);
    server.client("mysql").run("CREATE DATABASE test").unwrap();
    server
}

fn mysql() -> Option<Server> {
    let folder = folder_with(&fetched("mysql-8.0")?);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let messages = format!("--lc-messages-dir={}", at("programs/share"));
    let mut install = as_user("mysql", at("programs/bin/mysqld"));
    install.args(["--no-defaults", "--initialize-insecure", &messages]).env("TMPDIR", folder.path());
    assert!(quietly(install.arg(format!("--datadir={}", at("data")))));
    Some(started("programs/bin/mysqld", folder, &[messages, "--mysqlx=OFF".into(), "--skip-log-bin".into()]))
}

fn mariadb() -> Option<Server> {
    let folder = folder_with(&fetched("mariadb-11.4")?);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let base = format!("--basedir={}", at("programs"));
    let mut install = as_user("mysql", "/bin/sh");
    install.arg(at("programs/scripts/mariadb-install-db")).args(["--no-defaults", "--skip-test-db", &base]);
    install.arg("--auth-root-authentication-method=normal").env("TMPDIR", folder.path());
    assert!(quietly(install.arg(format!("--datadir={}", at("data")))));
    let messages = format!("--lc-messages-dir={}", at("programs/share/english"));
    // It would make itself a key of 4096 bits first, which takes a busy machine a minute.
    Some(started("programs/bin/mariadbd", folder, &[base, messages, "--skip-ssl".into()]))
}

#[test]
fn saved_answers_of_every_version_are_read_alike() {
    std::thread::scope(|scope| {
        for (name, vendor) in [("mariadb-10.11", "MariaDB"), ("mariadb-11.4", "MariaDB"), ("mysql-8.0", "MySQL")] {
            scope.spawn(move || {
                let (port, done) = saved::played(name, Dialect::Mysql);
                let mut observation = begin(&format!("mysql://root@127.0.0.1:{port}/test"), 20).unwrap();
                observation.go_on(3.2);
                is_counted(&observation.end(), done, vendor);
            });
        }
    });
}

#[test]
fn mysql_8_is_read_as_mariadb_is() {
    let Some(server) = mysql() else { return };
    all_that_was_done_is_counted(&server, ("mysql-8.0", "MySQL"));
    a_row_is_waited_for(&server, &["MySQL 8.0"]);
    a_queue_for_a_row_has_its_root(&server);
}

#[test]
fn mariadb_11_is_read_as_the_older_one_is() {
    let Some(server) = mariadb() else { return };
    all_that_was_done_is_counted(&server, ("mariadb-11.4", "MariaDB"));
    a_row_is_waited_for(&server, &["MariaDB 11.4"]);
    a_queue_for_a_row_has_its_root(&server);
}
