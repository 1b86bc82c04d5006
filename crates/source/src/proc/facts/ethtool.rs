//! Network interface facts from the SIOCETHTOOL ioctl: offloads, ring sizes, interrupt coalescing.

use std::os::{fd::AsRawFd, unix::net::UnixDatagram};

/// Commands of linux/ethtool.h that answer one number.
const SWITCHES: &[(u32, &str)] = &[
    (0x14, "rx checksumming"),
    (0x16, "tx checksumming"),
    (0x18, "scatter-gather"),
    (0x1e, "tcp segmentation offload"),
    (0x23, "generic segmentation offload"),
    (0x2b, "generic receive offload"),
];
const GET_FLAGS: u32 = 0x25;
/// Bits of the answer to [`GET_FLAGS`].
const FLAGS: &[(u32, &str)] =
    &[(1 << 15, "large receive offload"), (1 << 27, "ntuple filters"), (1 << 28, "receive hashing")];
const GET_COALESCE: u32 = 0x0e;
const GET_RING: u32 = 0x10;

/// The largest answer asked for (`ethtool_coalesce` has 23 words).
const N_WORDS: usize = 32;

/// `struct ifreq` with the member that SIOCETHTOOL uses.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut u32,
    /// The union in the kernel's struct is 24 bytes long.
    rest: [u8; 24 - size_of::<*mut u32>()],
}

/// Of linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// Asks drivers through its own socket.
pub struct Asker {
    socket: UnixDatagram,
}

impl Asker {
    /// None when sockets are forbidden here.
    pub fn open() -> Option<Asker> {
        // A socket of any family will do: the call is about devices, not about the socket.
        Some(Asker { socket: UnixDatagram::unbound().ok()? })
    }

    /// Answers of the driver of `nic`, by name; a question that it does not know has no answer.
    pub fn ask(&self, nic: &str) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
        for (command, name) in SWITCHES {
            if let Some(words) = self.get(nic, *command) {
                facts.push(((*name).to_owned(), on_off(words[1] != 0)));
            }
        }
        if let Some(words) = self.get(nic, GET_FLAGS) {
            facts.extend(FLAGS.iter().map(|(bit, name)| ((*name).to_owned(), on_off(words[1] & bit != 0))));
        }
        if let Some(w) = self.get(nic, GET_RING) {
            // rx_max, mini, jumbo, tx_max, then the same four as they are set.
            facts.push(("rx ring".to_owned(), format!("{} of {}", w[5], w[1])));
            facts.push(("tx ring".to_owned(), format!("{} of {}", w[8], w[4])));
        }
        if let Some(w) = self.get(nic, GET_COALESCE) {
            facts.push(("rx coalescing".to_owned(), format!("{} us, {} frames, adaptive {}", w[1], w[2], w[10])));
            facts.push(("tx coalescing".to_owned(), format!("{} us, {} frames, adaptive {}", w[5], w[6], w[11])));
        }
        facts
    }

    /// The answer to `command` with the command itself as its first word.
    #[allow(unsafe_code, reason = "SIOCETHTOOL has no safe wrapper")]
    fn get(&self, nic: &str, command: u32) -> Option<[u32; N_WORDS]> {
        let mut words = [0_u32; N_WORDS];
        words[0] = command;
        let mut request = Request { name: [0; 16], data: words.as_mut_ptr(), rest: [0; 24 - size_of::<*mut u32>()] };
        let name = nic.as_bytes();
        // The name must end in a zero byte.
        request.name.get_mut(..name.len()).filter(|_| name.len() < 16)?.copy_from_slice(name);
        // SAFETY: `request` has the layout of `struct ifreq` and lives through the call, as do the
        // words it points to. The kernel writes at most the struct of the command there: 92 bytes
        // for the largest of those used, of 128.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        (done >= 0).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::Asker;

    #[test]
    fn the_loopback_interface_answers_and_an_unknown_one_does_not() {
        let Some(asker) = Asker::open() else { return };
        let facts = asker.ask("lo");
        assert!(facts.iter().any(|(name, value)| name == "generic receive offload" && value == "on"), "{facts:?}");
        assert_eq!(asker.ask("no-such-nic"), []);
        assert_eq!(asker.ask("a-name-that-is-far-too-long"), []);
    }
}
