//! Who is at the other end of a connection.

use std::net::{IpAddr, SocketAddr};

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address.
    pub(crate) address: SocketAddr,
    /// The address of ours that it reached.
    pub(crate) local: SocketAddr,
    /// A short name of the certificate that it showed.
    pub(crate) certificate: Option<String>,
}

/// Whether only this machine reaches `ip`, also where it is an IPv4 address in the clothes of IPv6.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}
