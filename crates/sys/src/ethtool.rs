//! Settings of network interfaces that drivers have (SIOCETHTOOL), as `ethtool` reads and changes them.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A group of numbers that are read and written together: `struct ethtool_…` of `linux/ethtool.h`, a `u32` each, the first of them
/// the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// When interrupts are raised: `struct ethtool_coalesce`.
    Coalescing,
    /// Lengths of rings: `struct ethtool_ringparam`.
    Rings,
    /// Numbers of queues: `struct ethtool_channels`.
    Channels,
}

impl Numbers {
    /// Commands to get and to set them.
    const fn commands(self) -> (u32, u32) {
        match self {
            Numbers::Coalescing => (0x0e, 0x0f),
            Numbers::Rings => (0x10, 0x11),
            Numbers::Channels => (0x3c, 0x3d),
        }
    }
}

/// Words of the longest of these structures.
pub const MOST_NUMBERS: usize = 23;

/// An offload or another feature that is on or off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name in the kernel, such as `rx-gro`.
    pub name: String,
    /// Whether it is in effect.
    pub on: bool,
    /// Whether the driver lets it be changed.
    pub changeable: bool,
}

/// An interface of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    interface: String,
}

const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_STRING_COUNTS: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// The set of names of features, and bytes of a name.
const FEATURE_NAMES: u32 = 4;
const NAME: usize = 32;
/// Words of `struct ethtool_drvinfo`, and the place of the name in bytes.
const DRIVER_WORDS: usize = 49;
const DRIVER_NAME: std::ops::Range<usize> = 4..36;

impl Ethtool {
    /// Opens an interface; whether there is one shows when it is asked.
    ///
    /// # Errors
    /// When no socket can be opened, or the name is too long for one.
    pub fn open(interface: &str) -> io::Result<Ethtool> {
        if interface.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Ethtool { socket, interface: interface.to_owned() })
    }

    /// Makes the call. `data` has to be as long as the kernel reads and writes for the command that it begins with; gives what the
    /// call returned.
    fn call(&self, data: &mut [u32]) -> io::Result<i32> {
        // SAFETY: an ifreq is plain data, for which zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
        // SAFETY: the request outlives the call, and its data is writable and as long as each caller below makes it for its command.
        let done =
            unsafe { libc::ioctl(self.socket.as_fd().as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
    }

    /// The driver's name.
    ///
    /// # Errors
    /// When there is no such interface, or its driver has no name.
    pub fn driver(&self) -> io::Result<String> {
        let mut data = [0; DRIVER_WORDS];
        data[0] = GET_DRIVER;
        self.call(&mut data)?;
        let bytes = bytes(&data);
        Ok(text(bytes.get(DRIVER_NAME).unwrap_or_default()))
    }

    /// A group of numbers, by their places in the structure; those beyond it are 0.
    ///
    /// # Errors
    /// When the driver has no such settings (`EOPNOTSUPP`), or there is no such interface.
    pub fn numbers(&self, of: Numbers) -> io::Result<[u32; MOST_NUMBERS]> {
        // Longer than any of the structures.
        let mut data = [0; MOST_NUMBERS];
        data[0] = of.commands().0;
        self.call(&mut data)?;
        Ok(data)
    }

    /// Sets a group of numbers, all of which were read before.
    ///
    /// # Errors
    /// As the driver refuses them.
    pub fn set_numbers(&self, of: Numbers, mut data: [u32; MOST_NUMBERS]) -> io::Result<()> {
        data[0] = of.commands().1;
        self.call(&mut data[..]).map(|_| ())
    }

    /// Every feature that the kernel knows, in its order.
    ///
    /// # Errors
    /// When there is no such interface.
    pub fn features(&self) -> io::Result<Vec<Feature>> {
        // The command, a reserved word, a mask of two words, and one number.
        let mut count = [GET_STRING_COUNTS, 0, 1 << FEATURE_NAMES, 0, 0];
        self.call(&mut count)?;
        let n = count[4] as usize;
        let mut names = vec![0; 3 + n * NAME / 4];
        names[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, count[4]]);
        self.call(&mut names)?;
        let blocks = n.div_ceil(32);
        // Of each block four words: available, requested, active, never changed.
        let mut states = vec![0; 2 + 4 * blocks];
        states[..2].copy_from_slice(&[GET_FEATURES, u32::try_from(blocks).unwrap_or(0)]);
        self.call(&mut states)?;
        let names = bytes(names.get(3..).unwrap_or_default());
        let is_set = |at: usize, word: usize| {
            states.get(2 + 4 * (at / 32) + word).is_some_and(|block| block & (1 << (at % 32)) != 0)
        };
        let feature = |(at, name): (usize, &[u8])| Feature {
            name: text(name),
            on: is_set(at, 2),
            changeable: is_set(at, 0) && !is_set(at, 3),
        };
        Ok(names.chunks_exact(NAME).enumerate().map(feature).collect())
    }

    /// Turns features on or off, by their places among [`Ethtool::features`], of which there are `n`.
    ///
    /// # Errors
    /// As the driver refuses them.
    pub fn set_features(&self, n: usize, places: &[usize], on: bool) -> io::Result<()> {
        let blocks = n.div_ceil(32);
        // Of each block two words: which are meant, and which of them are on.
        let mut data = vec![0; 2 + 2 * blocks];
        data[..2].copy_from_slice(&[SET_FEATURES, u32::try_from(blocks).unwrap_or(0)]);
        for place in places.iter().filter(|place| **place < n) {
            let (block, bit) = (2 + 2 * (place / 32), 1 << (place % 32));
            data[block] |= bit;
            data[block + 1] |= if on { bit } else { 0 };
        }
        self.call(&mut data).map(|_| ())
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_features() {
        let features = Ethtool::open("lo").unwrap().features().unwrap();
        let of = |name: &str| features.iter().find(|feature| feature.name == name).unwrap();
        assert!(features.len() > 30);
        assert!(of("rx-gro").name == "rx-gro" && of("loopback").on && !of("loopback").changeable, "{features:?}");
    }

    #[test]
    fn what_is_no_interface_is_an_error() {
        assert_eq!(Ethtool::open("nothing0").unwrap().features().unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(Ethtool::open("a-name-that-is-too-long").is_err());
    }

    #[test]
    fn settings_that_a_driver_does_not_have_are_refused() {
        let lo = Ethtool::open("lo").unwrap();
        assert_eq!(lo.numbers(Numbers::Rings).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    }
}
