//! `/proc/net/{tcp,tcp6,unix}`: which sockets listen where, by their inodes.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

use fs_err as fs;

use crate::{Root, scan};

/// Inodes of the TCP sockets that listen at `address`; those of every address only when there is no other.
pub fn listening(root: &Root, address: SocketAddr) -> Vec<u64> {
    let (mut exact, mut any) = (Vec::new(), Vec::new());
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = root.read_text(table).unwrap_or_default();
        for (local, inode) in listeners(&text) {
            if local.port() != address.port() {
                continue;
            }
            if local.ip().to_canonical() == address.ip().to_canonical() {
                exact.push(inode);
            } else if local.ip().is_unspecified() {
                any.push(inode);
            }
        }
    }
    if exact.is_empty() { any } else { exact }
}

/// The local addresses and inodes of the sockets that listen, of a table as /proc/net/tcp.
pub fn listeners(table: &str) -> impl Iterator<Item = (SocketAddr, u64)> {
    table.lines().skip(1).filter_map(listener)
}

/// The local address and the inode of a line about a socket that listens (state `0A`).
fn listener(line: &str) -> Option<(SocketAddr, u64)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, local, _, "0A", .., inode] = fields.get(..10)? else { return None };
    Some((socket_address(local)?, inode.parse().ok()?))
}

/// State of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It takes connections.
    Listens,
    /// It has a peer.
    Connected,
    /// It has a peer, which is a name server by its port.
    Asks,
    /// It waits for a peer to take its connection.
    Opens,
    /// Something else: it begins or ends, or has no peer.
    Other,
}

/// State and inode of each socket in a table such as /proc/net/{tcp,udp}.
pub fn states(table: &[u8]) -> impl Iterator<Item = (State, u64)> {
    scan::lines(table).skip(1).filter_map(|line| {
        let mut fields = scan::words(line).skip(2);
        let remote = fields.next()?;
        let state = match fields.next()? {
            b"0A" => State::Listens,
            b"01" if remote.ends_with(b":0035") => State::Asks,
            b"01" => State::Connected,
            b"02" => State::Opens,
            _ => State::Other,
        };
        Some((state, fields.nth(5).and_then(scan::number)?))
    })
}

/// `0100007F:1F90`: words of four bytes in the machine's own order, and the port.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = (0..address.len() / 8)
        .map(|n| Some(u32::from_str_radix(address.get(n * 8..n * 8 + 8)?, 16).ok()?.to_ne_bytes()))
        .collect();
    let bytes = words?.concat();
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Inodes of the Unix sockets that listen at `path`, which the server may have named through a link.
pub fn bound(root: &Root, path: &Path) -> Vec<u64> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let wanted = real(path);
    let text = root.read_text("/proc/net/unix").unwrap_or_default();
    unix_listeners(&text).filter(|(path, _)| real(path) == wanted).map(|(_, inode)| inode).collect()
}

/// The paths and inodes of the Unix sockets that listen, of a table as /proc/net/unix; those without a file are left out.
pub fn unix_listeners(table: &str) -> impl Iterator<Item = (&Path, u64)> {
    table.lines().skip(1).filter_map(unix_listener)
}

/// The path and the inode of a line about a socket that listens (flag `00010000`).
fn unix_listener(line: &str) -> Option<(&Path, u64)> {
    let mut rest = line;
    let mut next = || {
        let (field, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(field)
    };
    let fields: [&str; 7] = [next()?, next()?, next()?, next()?, next()?, next()?, next()?];
    let [_, _, _, "00010000", _, _, inode] = fields else { return None };
    // A path may hold blanks.
    let path = Path::new(rest.trim_start());
    path.is_absolute().then_some((path, inode.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_words_of_the_machine() {
        assert_eq!(socket_address("0100007F:1F90"), Some("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(socket_address("00000000000000000000000001000000:0050"), Some("[::1]:80".parse().unwrap()));
        assert_eq!((socket_address("0100007F"), socket_address("xx:1")), (None, None));
    }

    #[test]
    fn the_path_of_a_socket_may_hold_blanks() {
        let line = "00000000ab: 00000002 00000000 00010000 0001 01    42 /tmp/a b/s";
        assert_eq!(unix_listener(line), Some((Path::new("/tmp/a b/s"), 42)));
        assert_eq!(unix_listener(&line.replace("00010000", "00000000")), None, "a connection");
        assert_eq!(unix_listener("0: 00000002 00000000 00010000 0001 01 42 @abstract"), None);
        assert_eq!((unix_listener(""), unix_listener("0: 00000002 00000000 00010000 0001 01 42")), (None, None));
    }

    #[test]
    fn only_sockets_that_listen_count() {
        let head = "   1: 0100007F:1F90 00000000:0000";
        let tail = "00000000:00000000 00:00000000 00000000     0        0 4242 1 0 100 0 0 10 0";
        assert_eq!(listener(&format!("{head} 0A {tail}")), Some(("127.0.0.1:8080".parse().unwrap(), 4242)));
        assert_eq!((listener(&format!("{head} 01 {tail}")), listener("")), (None, None));
        let table = format!("  sl  local_address …\n{head} 0A {tail}\n{head} 01 {tail}\n{head} 06 {tail}\ncut");
        let states: Vec<_> = states(table.as_bytes()).collect();
        assert_eq!(states, [(State::Listens, 4242), (State::Connected, 4242), (State::Other, 4242)]);
        let to = |port: &str, state: &str| {
            let line = format!("   2: 0100007F:C350 0A00000A:{port} {state} {tail}");
            super::states(format!("head\n{line}").as_bytes()).map(|(state, _)| state).collect::<Vec<_>>()
        };
        assert_eq!((to("0035", "01"), to("0035", "07")), (vec![State::Asks], vec![State::Other]), "a name server");
        assert_eq!((to("0050", "02"), to("0035", "02")), (vec![State::Opens], vec![State::Opens]), "no answer yet");
    }
}
