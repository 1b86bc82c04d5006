//! Discovery of local database servers: data directory, data files, buffer pool size.
//!
//! A server is found by its processes. Its working directory is its data directory: both PostgreSQL and
//! MariaDB (and MySQL) go there at start. Their caches are in configuration files or on the command
//! line, and the memory mapped for them is in /proc/PID/maps.

mod settings;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use settings::{COMMAND_LINE, Setting, bytes, of_command, of_mariadb, of_postgres};

use crate::{Processes, reading::open_regular};

/// Which kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// PostgreSQL.
    Postgres,
    /// MariaDB or MySQL, whose cache is InnoDB's.
    Mariadb,
}

/// Class of a server's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Tables and indexes: pages that the server keeps in its own cache too.
    Data,
    /// Redo log.
    Log,
    /// Anything else: temporary files, configuration, other engines' tables.
    Other,
}

/// A server, or a data directory whose server does not run.
#[derive(Clone, Debug)]
pub struct Server {
    /// Database system.
    pub system: System,
    /// Its data directory as it calls it.
    pub dir: PathBuf,
    /// Where this is for us.
    pub at: PathBuf,
    /// Its processes, the first one first.
    pub pids: Vec<u32>,
    /// Bytes of its cache of data files.
    pub pool: Option<u64>,
    /// Where this value is from, or why it is missing.
    pub pool_from: String,
    /// The mapping that holds this cache.
    pub pool_mapped: Option<u64>,
    /// The setting for how files are opened, where there is one.
    pub open_setting: Option<String>,
    /// The setting for huge pages, where there is one: `huge_pages=try`.
    pub huge_setting: Option<String>,
    /// Whether a part of its memory is in explicit huge pages; None where its mappings may not be read.
    pub has_huge: Option<bool>,
}

impl System {
    /// Its word in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            System::Postgres => "postgres",
            System::Mariadb => "mariadb",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            System::Postgres => "PostgreSQL",
            System::Mariadb => "MariaDB",
        }
    }

    /// Database system whose data directory a folder is.
    pub fn of_folder(folder: &Path) -> Option<System> {
        if folder.join("PG_VERSION").exists() {
            Some(System::Postgres)
        } else if folder.join("ibdata1").exists() || folder.join("aria_log_control").exists() {
            Some(System::Mariadb)
        } else {
            None
        }
    }

    fn of_process(comm: &str, command: &[String]) -> Option<System> {
        let first = command.first()?;
        match comm {
            // Its children change their command lines, as does one that only writes the first tables.
            "postgres" | "postmaster" if !first.starts_with("postgres: ") => {
                let alone = |word: &String| matches!(word.as_str(), "--boot" | "--single" | "--check");
                (!command.iter().any(alone)).then_some(System::Postgres)
            }
            "mariadbd" | "mysqld" => Some(System::Mariadb),
            _ => None,
        }
    }

    /// Class of the file `below` its data directory.
    pub fn class(self, below: &Path) -> Class {
        let mut parts = below.iter().map(|part| part.to_string_lossy());
        let first = parts.next().unwrap_or_default();
        let name = below.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        match self {
            System::Postgres if below.iter().any(|part| part == "pgsql_tmp") => Class::Other,
            System::Postgres => match &*first {
                "base" | "global" | "pg_tblspc" => Class::Data,
                "pg_wal" | "pg_xlog" => Class::Log,
                _ => Class::Other,
            },
            System::Mariadb if name.starts_with("ib_logfile") || name.starts_with("#ib_redo") => Class::Log,
            System::Mariadb => {
                let data = name.ends_with(".ibd")
                    || name.ends_with(".ibu")
                    || name.starts_with("ibdata")
                    || name.starts_with("ibtmp")
                    || name
                        .strip_prefix("undo")
                        .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'_'));
                if data { Class::Data } else { Class::Other }
            }
        }
    }
}

impl Class {
    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Data => "data",
            Class::Log => "log",
            Class::Other => "other",
        }
    }
}

impl Server {
    /// The servers that run, those of `system` only if it is given, in the order of their processes.
    pub fn running(processes: &Processes, system: Option<System>) -> Vec<Server> {
        let mut servers: Vec<Server> = Vec::new();
        let mut pids = processes.pids();
        pids.sort_unstable();
        let candidates: Vec<_> = pids.into_iter().filter_map(|pid| Some((pid, processes.comm(pid)?))).collect();
        for (pid, comm) in &candidates {
            let known = matches!(comm.as_str(), "postgres" | "postmaster" | "mariadbd" | "mysqld");
            if !known || servers.iter().any(|s| s.pids.contains(pid)) {
                continue;
            }
            let command = processes.command(*pid);
            let Some(is) = System::of_process(comm, &command).filter(|is| system.is_none_or(|s| s == *is)) else {
                continue;
            };
            let children = candidates.iter().filter(|(p, c)| c == comm && processes.parent(*p) == Some(*pid));
            let pids = std::iter::once(*pid).chain(children.map(|(p, _)| *p)).collect();
            servers.extend(Server::of(processes, is, pids, &command));
        }
        servers
    }

    fn new(system: System, dir: PathBuf, at: PathBuf, pids: Vec<u32>) -> Server {
        let pool_from = String::new();
        Server {
            system,
            dir,
            at,
            pids,
            pool: None,
            pool_from,
            pool_mapped: None,
            open_setting: None,
            huge_setting: None,
            has_huge: None,
        }
    }

    fn of(processes: &Processes, system: System, pids: Vec<u32>, command: &[String]) -> Option<Server> {
        let pid = *pids.first()?;
        let cwd = processes.path(pid, "cwd");
        let (dir, at) = match fs_err::read_link(&cwd) {
            // In other mounts than ours the link leads there all the same.
            Ok(dir) if same_folder(&dir, &cwd) => (dir.clone(), dir),
            Ok(dir) => (dir, cwd),
            Err(_) => {
                let reported = match system {
                    System::Postgres => {
                        let after =
                            command.iter().position(|word| word == "-D").and_then(|i| command.get(i + 1).cloned());
                        after.or_else(|| of_command(command, "data_directory").map(|s| s.value))
                    }
                    System::Mariadb => of_command(command, "datadir").map(|s| s.value),
                };
                let dir = PathBuf::from(reported?);
                (dir.clone(), dir)
            }
        };
        let mut server = Server::new(system, dir, at, pids);
        let resolve = |path: &Path| processes.inside(pid, path);
        server.configure(command, &resolve);
        server.pool_mapped = mapped(processes, pid, system, server.pool);
        let mut has_huge = false;
        let is_seen =
            processes.each_mapping(pid, &mut |mapping| has_huge |= mapping.path.starts_with("/anon_hugepage"));
        server.has_huge = is_seen.then_some(has_huge);
        Some(server)
    }

    /// Returns true if a link at the path `below` its data directory leads to more of its data.
    pub fn follows(&self, below: &Path) -> bool {
        let depth = below.iter().count();
        match self.system {
            System::Postgres if below.starts_with("pg_tblspc") => depth == 2,
            System::Postgres => depth == 1 && (below == Path::new("pg_wal") || below == Path::new("pg_xlog")),
            // Databases, which are folders, may be links.
            System::Mariadb => depth == 1,
        }
    }

    /// A data directory whose server does not run.
    pub fn at_rest(system: System, dir: &Path) -> Server {
        let mut server = Server::new(system, dir.to_owned(), dir.to_owned(), Vec::new());
        server.configure(&[], &Path::to_path_buf);
        server
    }

    /// Reads what its command line and configuration say.
    fn configure(&mut self, command: &[String], resolve: &dyn Fn(&Path) -> PathBuf) {
        let get = |name: &str| {
            of_command(command, name).or_else(|| match self.system {
                System::Postgres => postgres_setting(&self.at, command, name, resolve),
                System::Mariadb => mariadb_setting(command, name, resolve),
            })
        };
        // Both have the same default: 128 MiB.
        let (name, unit) = match self.system {
            System::Postgres => ("shared_buffers", 8192),
            System::Mariadb => ("innodb_buffer_pool_size", 1),
        };
        (self.pool, self.pool_from) = match (get(name), self.unreadable(command, resolve)) {
            (Some(Setting { value, from }), None) => (bytes(&value, unit), format!("{name} in {from}")),
            // Settings in the other file could override it.
            (Some(Setting { value, from }), Some(_)) if from == COMMAND_LINE => {
                (bytes(&value, unit), format!("{name} in {from}"))
            }
            (_, Some(file)) => (None, format!("not known, {} cannot be read", file.display())),
            (None, None) => (Some(128 << 20), format!("the default of {name}")),
        };
        // Where both of MariaDB are there (11.0 and later), the first one holds.
        let open: &[&str] = match self.system {
            System::Postgres => &["debug_io_direct"],
            System::Mariadb => &["innodb_data_file_buffering", "innodb_flush_method"],
        };
        let huge = match self.system {
            System::Postgres => "huge_pages",
            System::Mariadb => "large_pages",
        };
        self.huge_setting = get(huge).map(|setting| format!("{huge}={}", setting.value));
        self.open_setting = open.iter().find_map(|name| get(name).map(|s| format!("{name}={}", s.value)));
    }
}

impl Server {
    /// A configuration file that has to be there, or is, but may not be read.
    fn unreadable(&self, command: &[String], resolve: &dyn Fn(&Path) -> PathBuf) -> Option<PathBuf> {
        let (needed, others) = match self.system {
            System::Postgres => (Some(postgres_conf(&self.at, command)), vec![self.at.join("postgresql.auto.conf")]),
            System::Mariadb => (None, mariadb_files(command)),
        };
        let error = |file: &PathBuf| {
            let at = if file.starts_with(&self.at) { file.clone() } else { resolve(file) };
            open_regular(&at).err().map(|error| error.kind())
        };
        let missing = needed.filter(|file| error(file).is_some());
        missing.or_else(|| others.into_iter().find(|file| error(file) == Some(ErrorKind::PermissionDenied)))
    }
}

/// Returns true if two paths lead to one folder.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (rustix::fs::stat(a), rustix::fs::stat(b)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

fn postgres_setting(at: &Path, command: &[String], name: &str, resolve: &dyn Fn(&Path) -> PathBuf) -> Option<Setting> {
    // Settings that ALTER SYSTEM wrote come after all others. The data directory is where we see it already.
    let own: &dyn Fn(&Path) -> PathBuf = &|path| if path.starts_with(at) { path.to_owned() } else { resolve(path) };
    let conf = postgres_conf(at, command);
    of_postgres(&at.join("postgresql.auto.conf"), name, own).or_else(|| of_postgres(&conf, name, own))
}

/// PostgreSQL's first configuration file.
fn postgres_conf(at: &Path, command: &[String]) -> PathBuf {
    of_command(command, "config_file").map_or_else(|| at.join("postgresql.conf"), |set| PathBuf::from(set.value))
}

fn mariadb_setting(command: &[String], name: &str, resolve: &dyn Fn(&Path) -> PathBuf) -> Option<Setting> {
    mariadb_files(command).iter().rev().find_map(|file| of_mariadb(file, name, resolve))
}

/// MariaDB's option files; the last one holds.
fn mariadb_files(command: &[String]) -> Vec<PathBuf> {
    if command.iter().any(|word| word == "--no-defaults") {
        return Vec::new();
    }
    let set = |name| of_command(command, name).map(|set| PathBuf::from(set.value));
    match set("defaults_file") {
        Some(only) => vec![only],
        None => {
            let usual = ["/etc/my.cnf", "/etc/mysql/my.cnf"].map(PathBuf::from);
            usual.into_iter().chain(set("defaults_extra_file")).collect()
        }
    }
}

/// The mapping that holds a server's cache: of PostgreSQL its shared memory, of InnoDB the smallest private
/// one that is large enough.
fn mapped(processes: &Processes, pid: u32, system: System, pool: Option<u64>) -> Option<u64> {
    let mut best: Option<u64> = None;
    processes.each_mapping(pid, &mut |mapping| {
        let length = mapping.length();
        match system {
            System::Postgres => {
                let shared = ["/dev/zero", "/SYSV", "/anon_hugepage", "/memfd:"];
                if mapping.rights.ends_with('s') && shared.iter().any(|name| mapping.path.starts_with(name)) {
                    best = Some(best.unwrap_or(0).max(length));
                }
            }
            System::Mariadb => {
                let private =
                    mapping.rights == "rw-p" && (mapping.path.is_empty() || mapping.path.starts_with("/anon_huge"));
                if private && pool.is_some_and(|pool| length >= pool) {
                    best = Some(best.map_or(length, |best| best.min(length)));
                }
            }
        }
    });
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn files_are_told_apart_by_where_they_are() {
        let class = |system: System, path: &str| system.class(Path::new(path)).name();
        for (path, expected) in [
            ("base/5/1259", "data"),
            ("global/1262", "data"),
            ("pg_tblspc/16384/PG_15/5/1", "data"),
            ("pg_wal/000000010000000000000001", "log"),
            ("base/pgsql_tmp/pgsql_tmp1.0", "other"),
            ("postgresql.conf", "other"),
        ] {
            assert_eq!(class(System::Postgres, path), expected, "{path}");
        }
        for (path, expected) in [
            ("ibdata1", "data"),
            ("shop/orders.ibd", "data"),
            ("undo001", "data"),
            ("ib_logfile0", "log"),
            ("#innodb_redo/#ib_redo12", "log"),
            ("mysql/db.MAD", "other"),
            ("undo.txt", "other"),
        ] {
            assert_eq!(class(System::Mariadb, path), expected, "{path}");
        }
    }

    #[test]
    fn servers_are_found_among_five_thousand_processes() {
        let dir = tempfile::tempdir().unwrap();
        let put = |pid: u32, name: &str, text: &str| {
            let folder = dir.path().join("proc").join(pid.to_string());
            fs_err::create_dir_all(&folder).unwrap();
            fs_err::write(folder.join(name), text).unwrap();
        };
        let stat = |pid: u32, parent: u32| format!("{pid} (x) y) S {parent}{}", " 0".repeat(40));
        for pid in 1..=5000 {
            let server = pid == 10 || (20..30).contains(&pid);
            put(pid, "comm", if server { "postgres\n" } else { "worker (a) b\n" });
            if server {
                put(pid, "cmdline", "postgres: writer");
                put(pid, "stat", &stat(pid, 10));
            }
        }
        put(10, "cmdline", "postgres\0-D\0/none/pg\0-c\0shared_buffers=1GB\0");
        put(10, "stat", &stat(10, 1));
        let found = Server::running(&Processes::of(&Root::saved(dir.path())), None);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].pids[0], found[0].pids.len(), found[0].dir.as_path()), (10, 11, Path::new("/none/pg")));
        assert_eq!((found[0].pool, found[0].pool_from.as_str()), (Some(1 << 30), "shared_buffers in the command line"));
    }

    #[test]
    fn a_configuration_that_cannot_be_read_is_no_default() {
        let dir = tempfile::tempdir().unwrap();
        let none = Server::at_rest(System::Postgres, dir.path());
        assert_eq!(none.pool, None);
        assert!(
            none.pool_from.starts_with("not known, ") && none.pool_from.ends_with("postgresql.conf cannot be read")
        );
        fs_err::write(dir.path().join("postgresql.conf"), "port=1\n").unwrap();
        let default = Server::at_rest(System::Postgres, dir.path());
        assert_eq!((default.pool, default.pool_from.as_str()), (Some(128 << 20), "the default of shared_buffers"));
    }

    #[test]
    fn a_server_is_known_by_its_first_process() {
        let of = |comm: &str, command: &[&str]| {
            System::of_process(comm, &command.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of("postgres", &["/usr/lib/postgresql/15/bin/postgres", "-D", "d"]), Some(System::Postgres));
        assert_eq!(of("postgres", &["postgres: 15/main: checkpointer "]), None);
        assert_eq!(of("postgres", &["postgres", "--single", "-F"]), None);
        assert_eq!(of("mysqld", &["/usr/sbin/mysqld"]), Some(System::Mariadb));
        assert_eq!((of("mysqld", &[]), of("bash", &["mysqld"])), (None, None));
    }
}
