//! The processes of the server behind an address of this host: the one that listens there, and all that come from it.
//!
//! One process with threads (MariaDB) and one process for each connection (PostgreSQL) are a server alike.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::UdpSocket,
};

use fenxi_procfs::{
    Processes, Root,
    sockets::{bound, listening},
    stat::{self, Stat},
};

use crate::target::Endpoint;

/// The server's process, and those that come from it.
#[derive(Clone, Debug)]
pub struct Listener {
    processes: Processes,
    pid: u32,
    name: String,
}

impl Listener {
    /// The process that listens at an endpoint; None when it is not on this host or may not be looked at.
    pub fn find(endpoint: &Endpoint) -> Option<Listener> {
        let here = match endpoint {
            Endpoint::Unix(_) => true,
            // Only an address of this host can be bound.
            Endpoint::Tcp(address) => UdpSocket::bind((address.ip(), 0)).is_ok(),
        };
        if here { Listener::find_in(&Root::live(), endpoint) } else { None }
    }

    /// As [`Listener::find`], in a /proc that may be a saved one.
    pub fn find_in(root: &Root, endpoint: &Endpoint) -> Option<Listener> {
        let sockets = match endpoint {
            Endpoint::Tcp(address) => listening(root, *address),
            Endpoint::Unix(path) => bound(root, path),
        };
        let processes = Processes::of(root);
        let holds = |pid: &u32| processes.sockets(*pid).iter().any(|inode| sockets.contains(inode));
        let mut holders: BTreeSet<u32> = processes.pids().into_iter().filter(holds).collect();
        if holders.len() > 1 {
            // The service manager (PID 1) holds the sockets it hands over too, and is no service.
            holders.remove(&1);
        }
        let (pid, name) = holders.iter().find_map(|pid| {
            let (stat, name) = stat::of_process(root, *pid)?;
            (!holders.contains(&stat.ppid)).then_some((*pid, name))
        })?;
        Some(Listener { processes, pid, name })
    }

    /// Its process's number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its process's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its processes are looked up.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The server's processes: the one that listens, and all that come from it. Empty when it has ended.
    pub fn family(&self) -> BTreeMap<u32, Stat> {
        let (root, pids) = (self.processes.root(), self.processes.pids());
        let mut others: BTreeMap<u32, Stat> =
            pids.into_iter().filter_map(|pid| Some((pid, stat::of_process(root, pid)?.0))).collect();
        let mut family = BTreeMap::new();
        family.extend(others.remove_entry(&self.pid));
        loop {
            let (young, rest) = others.into_iter().partition(|(_, stat)| family.contains_key(&stat.ppid));
            others = rest;
            let young: BTreeMap<u32, Stat> = young;
            if young.is_empty() {
                return family;
            }
            family.extend(young);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener},
        os::unix::net::UnixListener,
    };

    use super::*;

    #[test]
    fn who_listens_is_found_by_address_and_by_path() {
        let own = std::process::id();
        for place in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let port = listener.local_addr().unwrap().port();
            let ip =
                if place.starts_with('[') { IpAddr::from(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };
            let server = Listener::find(&Endpoint::Tcp((ip, port).into())).unwrap();
            assert_eq!(server.pid(), own, "{place}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        assert_eq!(Listener::find(&Endpoint::Unix(folder.path().join("link/s"))).unwrap().pid(), own);
        assert!(Listener::find(&Endpoint::Unix(folder.path().join("other"))).is_none());
        assert!(Listener::find(&Endpoint::Tcp("203.0.113.7:80".parse().unwrap())).is_none());
    }
}
