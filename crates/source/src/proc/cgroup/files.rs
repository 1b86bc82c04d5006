//! Files of groups, kept open as far as the limit on open files allows.

use std::os::fd::OwnedFd;

use rustc_hash::FxHashMap;

use fenxi_procfs::reading::LIMIT;

use crate::Root;

/// Number of descriptors that may still be kept open.
#[derive(Clone, Copy, Debug)]
pub struct Budget(usize);

impl Budget {
    /// A quarter of what this process may have open.
    pub fn of_process() -> Budget {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Budget(limit.map_or(4096, |n| (n / 4).min(16_384) as usize))
    }
}

/// State shared by all cgroups: read buffer, descriptors left, known devices.
pub struct Shared {
    pub root: Root,
    bytes: Vec<u8>,
    budget: Budget,
    /// Whether a device (`8:0`) is stacked on others, so that its I/O is counted there again.
    stacked: FxHashMap<Box<[u8]>, bool>,
}

impl Shared {
    /// With `budget` descriptors to keep.
    pub fn new(root: Root, budget: Budget) -> Shared {
        Shared { root, bytes: vec![0; 16 * 1024], budget, stacked: FxHashMap::default() }
    }

    /// The buffer, taken out so that the text in it can be read while devices are looked up.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Gives the buffer back.
    pub fn return_buffer(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// Returns true if the device `major:minor` is made of other devices (dm, md).
    pub fn is_stacked(&mut self, device: &[u8]) -> bool {
        if let Some(known) = self.stacked.get(device) {
            return *known;
        }
        let folder = format!("/sys/dev/block/{}/slaves", String::from_utf8_lossy(device));
        let stacked = self.root.list(&folder).is_ok_and(|found| !found.is_empty());
        self.stacked.insert(device.into(), stacked);
        stacked
    }
}

/// One file of one group.
#[derive(Debug)]
pub enum File {
    /// It is kept open.
    Kept(OwnedFd),
    /// It is opened anew for each reading.
    Closed(Box<str>),
    /// The group has no such file (the controller is off).
    Missing,
}

impl File {
    /// The file `name` of the group in `folder`.
    pub fn new(folder: &str, name: &str, shared: &mut Shared) -> File {
        let path = format!("{folder}/{name}");
        match shared.root.open_file(&path) {
            Err(_) => File::Missing,
            Ok(_) if shared.budget.0 == 0 => File::Closed(path.into()),
            Ok(file) => {
                shared.budget.0 -= 1;
                File::Kept(file)
            }
        }
    }

    /// Its content; None when the group or the file is gone.
    pub fn read<'a>(&self, shared: &'a mut Shared) -> Option<&'a [u8]> {
        let n = self.read_into(&shared.root, &mut shared.bytes)?;
        Some(&shared.bytes[..n])
    }

    /// Reads its content to the beginning of `bytes` and returns its length.
    pub fn read_into(&self, root: &Root, bytes: &mut Vec<u8>) -> Option<usize> {
        match self {
            File::Missing => None,
            File::Kept(file) => read_all(file, bytes),
            File::Closed(path) => read_all(&root.open_file(path).ok()?, bytes),
        }
    }

    /// Gives the descriptor back when the group is gone.
    pub fn close(self, shared: &mut Shared) {
        if matches!(self, File::Kept(_)) {
            shared.budget.0 += 1;
        }
    }
}

fn read_all(file: &OwnedFd, bytes: &mut Vec<u8>) -> Option<usize> {
    let mut len = 0;
    while len <= LIMIT {
        if len == bytes.len() {
            bytes.resize(len.max(4096) * 2, 0);
        }
        let room = bytes.len() - len;
        let n = rustix::io::pread(file, &mut bytes[len..], len as u64).ok()?;
        len += n;
        // The kernel makes these files in one piece: a read that does not fill the buffer has it all.
        if n < room {
            return Some(len);
        }
    }
    // It is no file of a group.
    *bytes = Vec::new();
    None
}
