//! Which place an address names.

use std::path::PathBuf;

use fenxi_model::{Micros, RunId};
use fenxi_store::Store;

use crate::{
    CarryError, Peer, Place, Pulled, Pushed, Transfer, directory::Directory, http::Server, peer, pipe::Pipe, pull,
    push, s3::S3,
};

/// Where runs can be pushed to and pulled from.
pub enum Remote {
    /// Files under their names in a store.
    Place(Box<dyn Place>),
    /// Another fenxi.
    Peer(Box<dyn Peer>),
}

/// Inputs that an address needs besides: a clock, a token.
pub struct Wants {
    /// The time.
    pub now: fn() -> Micros,
    /// Token for a server.
    pub token: Option<String>,
}

/// The place at an address: `s3://BUCKET/PREFIX`, `ssh:HOST[:PATH]`, `http://HOST:PORT`, `file:///DIRECTORY`, or a directory.
///
/// # Errors
/// When the address names none, the environment has no credentials, or a host is not reached.
pub fn open(address: &str, wants: Wants) -> Result<Remote, CarryError> {
    let wrong = || CarryError::Address(address.to_owned());
    if let Some(rest) = address.strip_prefix("s3://") {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong());
        }
        return Ok(Remote::Place(Box::new(S3::from_environment(bucket, prefix, wants.now)?)));
    }
    if address.starts_with("http://") || address.starts_with("https://") {
        let host = address.split_once("://").map_or("", |(_, rest)| rest.trim_end_matches('/'));
        if host.is_empty() || host.contains(['/', '?', '#', '@']) {
            return Err(wrong());
        }
        return Ok(Remote::Peer(Box::new(Server::new(address, wants.token))));
    }
    if address.starts_with("ssh:") {
        let (destination, path) = of_ssh(address).ok_or_else(wrong)?;
        return Ok(Remote::Peer(Box::new(Pipe::ssh(address, &destination, path.as_deref())?)));
    }
    let path = match scheme(address) {
        None => address,
        Some("file") => {
            let path = address.strip_prefix("file://").filter(|path| path.starts_with('/'));
            path.ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong()),
    };
    if path.is_empty() {
        return Err(wrong());
    }
    Ok(Remote::Place(Box::new(Directory::new(PathBuf::from(path), wants.now))))
}

/// The word before a colon where no slash is before it: `gs` of `gs://bucket`, `host` of `host:path`.
fn scheme(address: &str) -> Option<&str> {
    address.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| !scheme.contains('/'))
}

/// Destination and path of `ssh:[USER@]HOST[:PATH]` or `ssh://[USER@]HOST[:PORT][/PATH]`.
fn of_ssh(address: &str) -> Option<(String, Option<String>)> {
    let (destination, path) = match address.strip_prefix("ssh://") {
        Some(rest) => {
            let (host, path) =
                rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(format!("/{path}"))));
            (format!("ssh://{host}"), path.filter(|path| path.len() > 1))
        }
        None => {
            let rest = address.strip_prefix("ssh:")?;
            // An IPv6 address is in brackets, which ssh does not want.
            let (host, path) = match rest.split_once(']') {
                Some((host, path)) => (host.replace('[', ""), path.strip_prefix(':')),
                None => {
                    rest.split_once(':').map_or((rest.to_owned(), None), |(host, path)| (host.to_owned(), Some(path)))
                }
            };
            // Paths are those of the login's folder, so that its name is its beginning.
            let path = path.map(|path| path.strip_prefix("~/").unwrap_or(path).to_owned());
            (host, path)
        }
    };
    let bare = destination.strip_prefix("ssh://").unwrap_or(&destination);
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
    let is_wrong = bare.is_empty() || bare.starts_with('-') || bare.contains(is_odd) || bare.ends_with('@');
    (!is_wrong && path.as_deref() != Some("")).then_some((destination, path))
}

impl Remote {
    /// It in words, for messages.
    pub fn name(&self) -> String {
        match self {
            Remote::Place(place) => place.name(),
            Remote::Peer(peer) => peer.name(),
        }
    }

    /// Puts runs there, all of them without `runs`.
    ///
    /// # Errors
    /// When a file is damaged here or does not arrive; what did arrive is not sent again.
    pub fn push(
        &mut self,
        store: &Store,
        runs: Option<&[RunId]>,
        transfer: &Transfer<'_>,
    ) -> Result<Pushed, CarryError> {
        match self {
            Remote::Place(place) => push(store, place.as_ref(), runs, transfer),
            Remote::Peer(peer) => peer::push(store, peer.as_mut(), runs, transfer),
        }
    }

    /// Fetches runs that are not here; `chosen` are ids or beginnings of ids, all runs without any.
    ///
    /// # Errors
    /// When it cannot be asked, what came is damaged, or the store cannot be written. Runs that were taken in stay.
    pub fn pull(&mut self, store: &Store, chosen: &[String], transfer: &Transfer<'_>) -> Result<Pulled, CarryError> {
        match self {
            Remote::Place(place) => pull(store, place.as_ref(), chosen, transfer),
            Remote::Peer(peer) => peer::pull(store, peer.as_mut(), chosen, transfer),
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::{Wants, of_ssh, open};

    #[test]
    fn addresses_name_places_and_what_is_no_known_kind_of_place_is_refused() {
        let wants = || Wants { now: || Micros(0), token: None };
        let named = |address: &str| open(address, wants()).map(|place| place.name()).map_err(|e| e.to_string());
        assert_eq!(named("/srv/fenxi").unwrap(), "/srv/fenxi");
        assert_eq!(named("./a:b").unwrap(), "./a:b");
        assert_eq!(named("file:///srv/fenxi").unwrap(), "/srv/fenxi");
        assert_eq!(named("http://127.0.0.1:7070/").unwrap(), "http://127.0.0.1:7070");
        let odd =
            ["", "file://host/x", "file:x", "gs://bucket", "s3:///x", "s3:x", "db1:runs", "x:y", "c:\\runs", ":x"];
        let of_hosts = [
            "ssh:",
            "ssh:-oProxyCommand=x",
            "ssh://",
            "ssh:a b",
            "ssh:me@",
            "ssh:a/b",
            "ssh:h:",
            "http://",
            "https://h/x",
        ];
        for wrong in odd.into_iter().chain(of_hosts) {
            assert!(named(wrong).unwrap_err().contains("names no place"), "{wrong}");
        }
    }

    #[test]
    fn hosts_and_paths_of_ssh_are_told_apart() {
        let of = |address: &str| of_ssh(address).map(|(host, path)| format!("{host} {}", path.unwrap_or_default()));
        for (address, expected) in [
            ("ssh:db1", "db1 "),
            ("ssh:me@db1:runs/a:b", "me@db1 runs/a:b"),
            ("ssh:db1:~/runs", "db1 runs"),
            ("ssh:[fe80::1]:/srv/x", "fe80::1 /srv/x"),
            ("ssh://me@db1:2222", "ssh://me@db1:2222 "),
            ("ssh://db1/srv/fenxi", "ssh://db1 /srv/fenxi"),
        ] {
            assert_eq!(of(address).as_deref(), Some(expected), "{address}");
        }
    }
}
