//! Is a database cached twice? Asked of servers that this test starts, in separate folders.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::{
    fs::{Advice, fadvise},
    process::Signal,
};
use tempfile::TempDir;

use super::{number, rows};
use crate::support::{Fenxi, signal, skipped, text, wait_for, walk};

/// Who the servers are when root runs the tests: they refuse to be root.
#[derive(Clone, Copy)]
struct User {
    ids: Option<(u32, u32)>,
}

impl User {
    /// The user of this name where this is root, else this one; None when there is no such user.
    fn named(name: &str) -> Option<User> {
        if !rustix::process::geteuid().is_root() {
            return Some(User { ids: None });
        }
        let users = fs_err::read_to_string("/etc/passwd").ok()?;
        let fields: Vec<&str> = users.lines().map(|l| l.split(':').collect()).find(|f: &Vec<&str>| f[0] == name)?;
        Some(User { ids: Some((fields[2].parse().ok()?, fields[3].parse().ok()?)) })
    }

    fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
        if let Some((uid, gid)) = self.ids {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// A folder of this user's.
    fn folder(self) -> TempDir {
        // Not in /tmp, which may be a memory file system.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        if let Some((uid, gid)) = self.ids {
            std::os::unix::fs::chown(dir.path(), Some(uid), Some(gid)).unwrap();
        }
        dir
    }
}

/// A server that ends with the test.
struct Server {
    child: Child,
    end: Signal,
}

impl Drop for Server {
    fn drop(&mut self) {
        signal(&self.child, self.end);
        let _ = self.child.wait();
    }
}

fn done(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
}

fn program(folders: &[&str], name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    all.map(|folder| folder.join(name)).find(|file| file.exists())
}

/// The answer for the data directory `dir`.
fn verdict(fenxi: &Fenxi, dir: &Path) -> String {
    let shown = fenxi.ok(&["memstat", &format!("--db={}", dir.display())]);
    eprintln!("{shown}");
    shown
}

/// Drops what of the files below `dir` is clean from the page cache.
fn evict(dir: &Path) {
    for path in walk(dir) {
        if let Ok(file) = fs_err::File::open(&path) {
            file.sync_all().unwrap();
            fadvise(file.file(), 0, None, Advice::DontNeed).unwrap();
        }
    }
}

/// MariaDB on `dir`, which has data already, with 1 MB of rows put in.
fn mariadb(user: User, server: &Path, client: &Path, dir: &Path, flush_method: &str) -> Server {
    let mut command = user.command(server);
    command
        .arg("--no-defaults")
        .arg(format!("--datadir={}", dir.join("data").display()))
        .arg(format!("--socket={}", dir.join("socket").display()))
        .arg(format!("--pid-file={}", dir.join("pid").display()))
        .arg(format!("--log-error={}", dir.join("log").display()))
        .arg(format!("--innodb-flush-method={flush_method}"))
        .args(["--skip-networking", "--innodb-buffer-pool-size=24M", "--skip-grant-tables"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = Server { child: command.spawn().unwrap(), end: Signal::KILL };
    let ask = |sql: &str| {
        let mut command = user.command(client);
        command.arg("--no-defaults").arg("-S").arg(dir.join("socket")).args(["-uroot", "-e", sql]);
        command
    };
    wait_for("MariaDB to answer", || ask("select 1").output().is_ok_and(|output| output.status.success()));
    done(ask(
        "create database if not exists shop; use shop; create table if not exists t (id int auto_increment primary key, \
              v varchar(250)) engine=innodb; insert into t (v) select repeat('x', 250) from seq_1_to_4000; \
              flush tables t for export; unlock tables",
    ));
    started
}

#[test]
fn mariadb_is_cached_twice_unless_it_goes_around_the_page_cache() {
    let (Some(user), Some(server), Some(client), Some(install)) = (
        User::named("mysql"),
        program(&["/usr/sbin", "/usr/libexec"], "mariadbd"),
        program(&[], "mariadb"),
        program(&[], "mariadb-install-db"),
    ) else {
        return skipped("is MariaDB cached twice", "MariaDB is not installed");
    };
    let fenxi = Fenxi::new();
    let dir = user.folder();
    let data = dir.path().join("data");
    let mut command = user.command(&install);
    command.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]);
    command.arg(format!("--datadir={}", data.display()));
    done(command);

    let running = mariadb(user, &server, &client, dir.path(), "fsync");
    let shown = verdict(&fenxi, &data);
    assert!(shown.contains(&format!("MariaDB at {} (process {})", data.display(), running.child.id())));
    assert!(shown.contains("\nCACHED TWICE: ") && shown.contains("beside a buffer pool of 24 MB"), "{shown}");
    assert!(
        shown.contains("innodb_flush_method=fsync") && shown.contains("innodb_buffer_pool_size in the command line")
    );
    let argument = format!("--db={}", data.display());
    let group = rows(&fenxi, "page_cache", &[&argument]).remove(0);
    assert!(number(&group, "buffered_files") >= 2.0 && number(&group, "direct_files") == 0.0, "{group}");
    assert!(number(&group, "pool_mapped_bytes") >= number(&group, "pool_bytes"), "{group}");
    let files = rows(&fenxi, "file_cache", &[&argument]);
    let table = files.iter().find(|row| row["path"].as_str().unwrap().ends_with("shop/t.ibd")).unwrap();
    // Pages written through the page cache are there, but for those that the kernel dropped meanwhile.
    assert!(number(table, "cached_bytes") >= 500_000.0 && number(table, "buffered_opens") >= 1.0, "{table}");
    drop(running);

    let stopped = verdict(&fenxi, &data);
    assert!(stopped.contains("(not running)") && stopped.contains("\nNOT RUNNING: "), "{stopped}");

    evict(dir.path());
    let running = mariadb(user, &server, &client, dir.path(), "O_DIRECT");
    let group = rows(&fenxi, "page_cache", &[&argument]).remove(0);
    if number(&group, "direct_files") == 0.0 {
        return skipped("MariaDB with O_DIRECT", "this file system has no O_DIRECT");
    }
    let shown = verdict(&fenxi, &data);
    assert!(shown.contains("\nNOT cached twice: opened with O_DIRECT"), "{shown}");
    assert!(shown.contains("innodb_flush_method=O_DIRECT") && number(&group, "buffered_files") == 0.0, "{group}");
    let files = rows(&fenxi, "file_cache", &[&argument]);
    let table = files.iter().find(|row| row["path"].as_str().unwrap().ends_with("shop/t.ibd")).unwrap();
    assert!(number(table, "cached_bytes") <= 200_000.0 && number(table, "direct_opens") >= 1.0, "{table}");
    drop(running);
}

#[test]
fn postgresql_is_cached_twice_and_a_stranger_learns_little() {
    let versions = fs_err::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders: Vec<String> = versions.map(|v| v.path().join("bin").display().to_string()).collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let (Some(user), Some(server), Some(initdb), Some(psql)) = (
        User::named("postgres"),
        program(&folders, "postgres"),
        program(&folders, "initdb"),
        program(&folders, "psql"),
    ) else {
        return skipped("is PostgreSQL cached twice", "PostgreSQL is not installed");
    };
    let fenxi = Fenxi::new();
    let dir = user.folder();
    let data = dir.path().join("data");
    let mut command = user.command(&initdb);
    command.args(["-A", "trust", "-U", "postgres", "--no-sync", "-D"]).arg(&data);
    done(command);
    let settings = format!("listen_addresses = ''\nunix_socket_directories = '{}'\n", dir.path().display());
    let conf = fs_err::read_to_string(data.join("postgresql.conf")).unwrap();
    fs_err::write(data.join("postgresql.conf"), conf + &settings + "shared_buffers = 2048 # pages\n").unwrap();
    let mut command = user.command(&server);
    command.arg("-D").arg(&data).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Server { child: command.spawn().unwrap(), end: Signal::QUIT };
    let ask = |sql: &str| {
        let mut command = user.command(&psql);
        command.arg("-h").arg(dir.path()).args(["-U", "postgres", "-d", "postgres", "-c", sql]);
        command
    };
    wait_for("PostgreSQL to answer", || ask("select 1").output().is_ok_and(|output| output.status.success()));
    done(ask("create table t as select g, repeat('x', 250) v from generate_series(1, 20000) g"));
    done(ask("checkpoint"));

    let shown = verdict(&fenxi, &data);
    assert!(shown.contains(&format!("PostgreSQL at {} (process {})", data.display(), running.child.id())), "{shown}");
    assert!(shown.contains("\nCACHED TWICE: ") && shown.contains("beside a buffer pool of 16 MB"), "{shown}");
    assert!(shown.contains("shared_buffers in ") && shown.contains("the mapping of "), "{shown}");
    assert!(shown.contains("at most 16 MB are in memory twice") || shown.contains("debug_io_direct"), "{shown}");

    if rustix::process::geteuid().is_root() {
        let copy = tempfile::tempdir_in("/var/tmp").unwrap();
        let own = copy.path().join("fenxi");
        fs_err::set_permissions(copy.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs_err::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs_err::copy(env!("CARGO_BIN_EXE_fenxi"), &own).unwrap();
        let mut command = User { ids: Some((65_534, 65_534)) }.command(&own);
        command.arg("memstat").arg(format!("--db={}", data.display()));
        // Another test's child may hold what was just written for a moment.
        let is_busy = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ExecutableFileBusy;
        let mut output = command.output();
        while output.as_ref().is_err_and(is_busy) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            output = command.output();
        }
        let output = output.unwrap();
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(shown.contains("\nUNKNOWN whether cached twice"), "{shown}");
        assert!(shown.contains("postgresql.conf cannot be read"), "{shown}");
        assert!(shown.contains("of its processes may not be looked into"), "{shown}");
    }
}
