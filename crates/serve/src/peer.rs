//! The peer of a connection.

use std::net::{IpAddr, SocketAddr};

/// The peer of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address.
    pub(crate) address: SocketAddr,
    /// The address of ours that it reached.
    pub(crate) local: SocketAddr,
    /// A short name of the certificate that it showed.
    pub(crate) certificate: Option<String>,
}

/// Whether only this machine reaches `ip`, also as an IPv4 address mapped to IPv6.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}
