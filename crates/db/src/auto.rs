//! The database servers that run on this host, and where they listen: what `--db auto` observes.
//!
//! A server is found by its processes, and its address by the sockets that they hold. The sockets of a process of
//! somebody else may not be looked at: then a listening socket counts whose name only a database server gives.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use fenxi_procfs::{
    Processes, Root,
    servers::{self, System},
    sockets::{listeners, unix_listeners},
};

/// A server that runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Display name: its kind and its data directory.
    pub name: String,
    /// The URL that leads to it; None when it listens nowhere that this user could see.
    pub url: Option<String>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Preferred: the server then knows who connects.
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Ports of MySQL for other protocols than the usual one: X protocol, administration.
const OTHER_PORTS: [u16; 2] = [33_060, 33_062];

/// A process that is a server.
struct Candidate {
    system: System,
    name: String,
    pid: u32,
}

/// The servers that run here, in the order of their processes.
pub fn running(root: &Root) -> Vec<Found> {
    let processes = Processes::of(root);
    let mut places = listening(root);
    let mut found = Vec::new();
    for Candidate { system, name, pid } in candidates(&processes) {
        let inodes = processes.sockets(pid);
        let own = places.iter().filter(|(place, inode)| inodes.contains(inode) && fits(system, place));
        let url = own.map(|(place, _)| place).min().map(|place| url(system, place));
        // A socket has one server: what may not be looked into can have the rest.
        places.retain(|(_, inode)| !inodes.contains(inode));
        found.push((Found { name, url }, system, inodes.is_empty()));
    }
    for (found, system, _) in found.iter_mut().filter(|(_, _, is_closed)| *is_closed) {
        if let Some(at) = places.iter().position(|(place, _)| is_named_so(*system, place)) {
            found.url = Some(url(*system, &places.remove(at).0));
        }
    }
    found.into_iter().map(|(found, ..)| found).collect()
}

/// Servers by their data directories, and those of other users, whose directories are unknown.
fn candidates(processes: &Processes) -> Vec<Candidate> {
    let servers = servers::Server::running(processes, None);
    let mut all: Vec<Candidate> = servers
        .iter()
        .filter_map(|server| {
            let name = format!("{} in {}", server.system.title(), server.dir.display());
            Some(Candidate { system: server.system, name, pid: *server.pids.first()? })
        })
        .collect();
    for pid in processes.pids() {
        let is_known = servers.iter().any(|server| server.pids.contains(&pid));
        let is_server = processes.comm(pid).is_some_and(|comm| matches!(comm.as_str(), "mariadbd" | "mysqld"));
        if is_server && !is_known {
            let name = format!("{}, process {pid}", System::Mariadb.title());
            all.push(Candidate { system: System::Mariadb, name, pid });
        }
    }
    all.sort_by_key(|candidate| candidate.pid);
    all
}

/// All places where something listens, with the inodes of the sockets.
fn listening(root: &Root) -> Vec<(Place, u64)> {
    let unix = root.read_text("/proc/net/unix").unwrap_or_default();
    let mut all: Vec<_> = unix_listeners(&unix).map(|(path, inode)| (Place::Unix(path.to_owned()), inode)).collect();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = root.read_text(table).unwrap_or_default();
        all.extend(listeners(&text).map(|(address, inode)| (Place::Tcp(address), inode)));
    }
    all
}

/// Whether a server's socket speaks the protocol that we do.
fn fits(system: System, place: &Place) -> bool {
    match (system, place) {
        (System::Postgres, Place::Unix(path)) => port_of(path).is_some(),
        (System::Mariadb, Place::Unix(path)) => !name(path).starts_with("mysqlx"),
        (System::Mariadb, Place::Tcp(address)) => !OTHER_PORTS.contains(&address.port()),
        (System::Postgres, Place::Tcp(_)) => true,
    }
}

/// Whether only such a server names a socket so.
fn is_named_so(system: System, place: &Place) -> bool {
    let Place::Unix(path) = place else { return false };
    match system {
        System::Postgres => port_of(path).is_some(),
        System::Mariadb => matches!(name(path), "mysqld.sock" | "mysql.sock" | "mariadb.sock"),
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The number at the end of the name of PostgreSQL's socket.
fn port_of(path: &Path) -> Option<u16> {
    name(path).strip_prefix(".s.PGSQL.")?.parse().ok()
}

/// The URL of a place; of PostgreSQL with the database that every server has.
fn url(system: System, place: &Place) -> String {
    match (system, place) {
        (System::Postgres, Place::Unix(path)) => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            format!("postgres://{}:{}/postgres", encoded(folder), port_of(path).unwrap_or(5432))
        }
        (System::Mariadb, Place::Unix(path)) => format!("mysql:///?socket={}", encoded(path)),
        (System::Postgres, Place::Tcp(address)) => format!("postgres://{}/postgres", reachable(*address)),
        (System::Mariadb, Place::Tcp(address)) => format!("mysql://{}/", reachable(*address)),
    }
}

/// The address to connect to: who listens at every address also listens at loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

/// A path as a part of a URL.
fn encoded(path: &Path) -> String {
    use std::{fmt::Write, os::unix::ffi::OsStrExt};
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A saved /proc with servers that hold these sockets; a server with None may not be looked into.
    fn saved(servers: &[(u32, &str, Option<&[u64]>)], unix: &[(u64, &str)], tcp: &[(u64, &str)]) -> Vec<Found> {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            let path = dir.path().join("proc").join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        for (pid, comm, sockets) in servers {
            fs_err::write(at(&format!("{pid}/comm")), format!("{comm}\n")).unwrap();
            fs_err::write(at(&format!("{pid}/cmdline")), format!("/usr/bin/{comm}\0-D\0/data/{pid}\0")).unwrap();
            fs_err::write(at(&format!("{pid}/stat")), format!("{pid} ({comm}) S 1{}", " 0".repeat(45))).unwrap();
            for (fd, inode) in sockets.unwrap_or_default().iter().enumerate() {
                symlink(format!("socket:[{inode}]"), at(&format!("{pid}/fd/{fd}"))).unwrap();
            }
        }
        let lines = unix.iter().map(|(inode, path)| format!("0: 00000002 00000000 00010000 0001 01 {inode} {path}\n"));
        let text: String = std::iter::once("Num\n".to_owned()).chain(lines).collect();
        fs_err::write(at("net/unix"), text).unwrap();
        let lines = tcp.iter().map(|(inode, address)| {
            format!("0: {address} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 {inode} 1 0\n")
        });
        let text: String = std::iter::once("sl\n".to_owned()).chain(lines).collect();
        fs_err::write(at("net/tcp"), text).unwrap();
        running(&Root::saved(dir.path()))
    }

    fn urls(found: &[Found]) -> Vec<Option<&str>> {
        found.iter().map(|found| found.url.as_deref()).collect()
    }

    #[test]
    fn a_server_is_where_its_own_process_listens_and_a_socket_comes_before_a_port() {
        let servers: &[(u32, &str, Option<&[u64]>)] =
            &[(10, "postgres", Some(&[1, 2, 3])), (20, "postgres", Some(&[4])), (30, "mariadbd", Some(&[5, 6]))];
        let unix = [(2, "/run/postgresql/.s.PGSQL.5433"), (6, "/tmp/a b/my.sock"), (9, "/run/other")];
        let tcp = [(3, "0100007F:1539"), (4, "00000000:1538"), (5, "00000000:0CEA")];
        let found = saved(servers, &unix, &tcp);
        assert_eq!(
            urls(&found),
            [
                Some("postgres://%2Frun%2Fpostgresql:5433/postgres"),
                Some("postgres://127.0.0.1:5432/postgres"),
                Some("mysql:///?socket=%2Ftmp%2Fa%20b%2Fmy.sock"),
            ]
        );
        assert!(found[0].name.starts_with("PostgreSQL in "), "{}", found[0].name);
    }

    #[test]
    fn the_socket_of_somebody_elses_server_is_known_by_its_name() {
        let servers: &[(u32, &str, Option<&[u64]>)] = &[(10, "postgres", None), (30, "mysqld", None)];
        let unix =
            [(2, "/run/postgresql/.s.PGSQL.5432"), (6, "/run/mysqld/mysqlx.sock"), (7, "/run/mysqld/mysqld.sock")];
        assert_eq!(
            urls(&saved(servers, &unix, &[(3, "00000000:1538")])),
            [
                Some("postgres://%2Frun%2Fpostgresql:5432/postgres"),
                Some("mysql:///?socket=%2Frun%2Fmysqld%2Fmysqld.sock")
            ]
        );
        assert_eq!(urls(&saved(servers, &[], &[(3, "00000000:1538")])), [None, None], "a port may be anybody's");
        assert!(saved(&[], &unix, &[]).is_empty());
    }
}
