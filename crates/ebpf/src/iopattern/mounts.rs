//! Mounted file systems by device number, with their mount paths.

use fenxi_procfs::{
    Root,
    mountinfo::{Mount, mounts},
};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::FxHashMap;

use crate::EbpfError;

/// Bytes of `struct mount_key`'s path (`files.h`).
const PATH: usize = 124;
/// Bits of a device's number that are its minor (`MINORBITS` of the kernel).
const MINOR_BITS: u32 = 20;

/// The kernel's number of a mount's device.
fn device_of(mount: &Mount) -> u32 {
    (mount.device.0 << MINOR_BITS) | mount.device.1
}

/// Mounts of a mountinfo by device: where all of a file system is seen, else where a part of it is.
fn by_device(mountinfo: &[u8]) -> FxHashMap<u32, Mount> {
    let mut found: FxHashMap<u32, Mount> = FxHashMap::default();
    for mount in mounts(mountinfo) {
        let device = device_of(&mount);
        let better = found.get(&device).is_none_or(|known| known.root != "/" && mount.root == "/");
        if better {
            found.insert(device, mount);
        }
    }
    found
}

fn own_mounts() -> Result<Vec<u8>, EbpfError> {
    let read = Root::live().read("/proc/self/mountinfo");
    read.map_err(|error| EbpfError::Target(format!("mounts cannot be read: {error}")))
}

/// The device of this process's root directory: not that of stat(2), which btrfs answers with another.
pub(super) fn root_device() -> Result<u32, EbpfError> {
    let root = mounts(&own_mounts()?).filter(|mount| mount.point == "/").last();
    // 0 is no file system: absolute paths are then charged to the root directory's.
    Ok(root.map_or(0, |mount| device_of(&mount)))
}

/// The mounts that this process sees, and of other processes' what was asked for.
#[derive(Debug)]
pub(super) struct Mounts {
    /// By path, for the programs.
    map: MapHandle,
    mountinfo: Vec<u8>,
    devices: FxHashMap<u32, Option<Mount>>,
    keys: Vec<Vec<u8>>,
}

impl Mounts {
    pub(super) fn new(map: MapHandle) -> Result<Mounts, EbpfError> {
        let mut mounts = Mounts { map, mountinfo: Vec::new(), devices: FxHashMap::default(), keys: Vec::new() };
        mounts.refresh()?;
        Ok(mounts)
    }

    /// Looks whether something was mounted or unmounted, and updates the programs.
    pub(super) fn refresh(&mut self) -> Result<(), EbpfError> {
        let mountinfo = own_mounts()?;
        if mountinfo == self.mountinfo {
            return Ok(());
        }
        for key in self.keys.drain(..) {
            let _ = self.map.delete(&key);
        }
        for mount in mounts(&mountinfo) {
            let Some(key) = key(&mount.point) else { continue };
            let updated = self.map.update(&key, &device_of(&mount).to_ne_bytes(), MapFlags::ANY);
            updated.map_err(|source| EbpfError::Map { map: "mounts".to_owned(), source })?;
            self.keys.push(key);
        }
        self.devices = by_device(&mountinfo).into_iter().map(|(device, mount)| (device, Some(mount))).collect();
        self.mountinfo = mountinfo;
        Ok(())
    }

    /// The mount of a device, as this process sees it, or else as process `pid` does (in a container).
    pub(super) fn of(&mut self, device: u32, pid: u32) -> Option<&Mount> {
        let found = self.devices.entry(device).or_insert_with(|| {
            let mountinfo = Root::live().read(&format!("/proc/{pid}/mountinfo")).ok()?;
            by_device(&mountinfo).remove(&device)
        });
        found.as_ref()
    }
}

/// How a mount point is looked up: with a slash at its end; None when it is too long.
fn key(point: &str) -> Option<Vec<u8>> {
    let path = format!("{}/", point.trim_end_matches('/')).into_bytes();
    if path.len() > PATH {
        return None;
    }
    let mut key = u32::try_from(path.len() * 8).ok()?.to_ne_bytes().to_vec();
    key.extend(&path);
    key.resize(4 + PATH, 0);
    Some(key)
}

/// Name of a device that is mounted nowhere.
pub(super) fn device_name(device: u32) -> String {
    format!("device {}:{}", device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"\
22 1 254:0 /var/lib/docker /data rw,relatime shared:1 - ext4 /dev/vda rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 0:26 / /my\\040disk rw,relatime - tmpfs none rw
30 27 259:1 /sub /only/part rw - xfs /dev/nvme0n1p1 rw";

    #[test]
    fn a_device_is_where_all_of_it_is_seen() {
        let found = by_device(TEXT);
        assert_eq!(found[&(254 << 20)].path("var/log/x"), "/var/log/x");
        assert_eq!(found[&26].path("a/b"), "/my disk/a/b");
    }

    #[test]
    fn a_part_of_a_file_system_is_left_out_of_paths_below_its_mount() {
        assert_eq!(by_device(TEXT)[&((259 << 20) | 1)].path("sub/x/y"), "/only/part/x/y");
    }

    #[test]
    fn mount_points_are_looked_up_with_a_slash_at_their_end() {
        let root = key("/").unwrap();
        assert_eq!((root.len(), &root[..5]), (128, [8, 0, 0, 0, b'/'].as_slice()));
        let home = key("/home").unwrap();
        assert_eq!(&home[..10], [48, 0, 0, 0, b'/', b'h', b'o', b'm', b'e', b'/'].as_slice());
        assert_eq!(key(&"x".repeat(200)), None);
    }
}
