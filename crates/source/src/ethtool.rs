//! Driver statistics of network interfaces, by the ioctl that `ethtool -S` uses.
//!
//! Needs no privileges. The kernel's interface is linux/ethtool.h.
#![allow(unsafe_code, reason = "one ioctl, which takes a pointer within a structure")]

use std::{io, os::fd::AsRawFd};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETH_SS_STATS: u32 = 1;
/// Bytes of a counter's name (ETH_GSTRING_LEN).
const NAME: usize = 32;
/// No driver has that many counters.
const MOST: usize = 1 << 16;

/// A socket through which drivers are asked, and room for their answers.
#[derive(Debug)]
pub struct Ethtool {
    socket: std::os::fd::OwnedFd,
    /// 64-bit words, so that counters are aligned.
    buffer: Vec<u64>,
}

impl Ethtool {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When the kernel refuses sockets.
    pub fn open() -> io::Result<Ethtool> {
        let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
        Ok(Ethtool { socket, buffer: Vec::new() })
    }

    /// Number of counters of the driver of `interface`; 0 when it has none or does not report them.
    pub fn n_counters(&mut self, interface: &str) -> usize {
        // cmd, reserved, sset_mask (64 bits), data[1].
        self.prepare(3, ETHTOOL_GSSET_INFO, 0);
        self.buffer[1] = 1 << ETH_SS_STATS;
        if self.ask(interface).is_err() || self.buffer[1] == 0 {
            return 0;
        }
        (low(self.buffer[2]) as usize).min(MOST)
    }

    /// The names of the driver's counters.
    ///
    /// # Errors
    /// When the driver does not support it, or the interface is gone.
    pub fn names(&mut self, interface: &str) -> io::Result<Vec<Box<str>>> {
        let n = self.n_counters(interface);
        // cmd, string_set, len, then names of 32 bytes each.
        self.prepare(2 + room(n) * NAME / 8, ETHTOOL_GSTRINGS, ETH_SS_STATS);
        self.ask(interface)?;
        let bytes: Vec<u8> = self.buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let reported = low(self.buffer[1]) as usize;
        let names = bytes[12..].chunks_exact(NAME).take(reported.min(n));
        Ok(names.map(|name| String::from_utf8_lossy(name.split(|b| *b == 0).next().unwrap_or(&[])).into()).collect())
    }

    /// The driver's counters now, in the order of their names.
    ///
    /// # Errors
    /// When the driver does not support it, or the interface is gone.
    pub fn counters(&mut self, interface: &str) -> io::Result<&[u64]> {
        let n = self.n_counters(interface);
        // cmd, n_stats, then 64-bit counters.
        self.prepare(1 + room(n), ETHTOOL_GSTATS, n as u32);
        self.ask(interface)?;
        Ok(&self.buffer[1..=n])
    }

    /// Makes room for `words` words and sets the first two numbers.
    fn prepare(&mut self, words: usize, command: u32, second: u32) {
        self.buffer.clear();
        self.buffer.resize(words, 0);
        self.buffer[0] = pair(command, second);
    }

    fn ask(&mut self, interface: &str) -> io::Result<()> {
        // SAFETY: an ifreq is plain data, for which zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if interface.len() >= request.ifr_name.len() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = self.buffer.as_mut_ptr().cast();
        // SAFETY: the socket is open, and `ifru_data` points to a buffer that is larger than the answer.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &mut request) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Room for `n` counters: the kernel writes as many as there are when it is asked, even when queues were
/// added since their number was read.
fn room(n: usize) -> usize {
    2 * n + 4096
}

/// Two 32-bit numbers as they are in memory.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// The first of two 32-bit numbers.
fn low(word: u64) -> u32 {
    let bytes = word.to_ne_bytes();
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::{Ethtool, low, pair};

    #[test]
    fn numbers_stand_in_memory_as_the_kernel_wants_them() {
        assert_eq!(pair(1, 2).to_ne_bytes(), [1_u32.to_ne_bytes(), 2_u32.to_ne_bytes()].concat()[..]);
        assert_eq!(low(pair(7, 9)), 7);
    }

    #[test]
    fn an_interface_that_is_not_there_has_no_counters() {
        let mut ethtool = Ethtool::open().unwrap();
        assert_eq!(ethtool.n_counters("no-such-if"), 0);
        assert!(ethtool.counters("no-such-if").is_err());
        assert!(ethtool.names("a-name-longer-than-any-interface").is_err());
    }
}
