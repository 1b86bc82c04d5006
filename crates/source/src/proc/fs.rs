//! Space and inodes of mounted file systems.
//!
//! Mounts come from /proc/self/mounts; sizes from the statvfs system call, so a saved root has none.
//! Only types of file systems that live on this machine are asked: a network file system whose
//! server is dead would hold the recorder for minutes. One file system that is mounted in several
//! places is shown at the first of them.

mod mounts;

use std::path::PathBuf;

pub use mounts::{Mount, parse as parse_mounts};

use fenxi_model::{
    Rows,
    catalog::fs::{self, TABLE},
};

use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

const FILE: &str = "/proc/self/mounts";

/// Types with storage of their own on this machine. Others (network, FUSE, kernel interfaces) are
/// left out.
const LOCAL_TYPES: &[&str] = &[
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "reiserfs", "reiser4", "nilfs2", "udf",
    "ntfs", "ntfs3", "vfat", "exfat", "msdos", "hfs", "hfsplus", "minix", "ocfs2", "gfs2", "tmpfs", "overlay",
];

pub struct Fs;

/// The source.
pub static SOURCE: Fs = Fs;

static SPEC: Spec = Spec {
    name: "fs",
    summary: "space and inodes of local file systems (statvfs of /proc/self/mounts)",
    tables: &[&TABLE],
    take: Take::Every { seconds: 10 },
    default: true,
    live: true,
};

impl Source for Fs {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        if !root.is_live() {
            let why = "sizes come from a system call, and these files are a saved copy".to_owned();
            return Err(SourceError::Unavailable { what: "space of file systems", why });
        }
        Ok(Box::new(FileSystems { file: root.open(FILE)?, root: root.clone(), text: Vec::new(), mounts: Vec::new() }))
    }
}

struct FileSystems {
    file: ProcFile,
    root: Root,
    /// The mounts as they were listed at the sample before: they seldom change.
    text: Vec<u8>,
    mounts: Vec<Asked>,
}

struct Asked {
    mount: Mount,
    path: PathBuf,
    /// Whether a failure was noted already.
    noted: bool,
}

impl Collector for FileSystems {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let text = self.file.read()?;
        if text != self.text {
            self.text = text.to_owned();
            let found = chosen(mounts::parse(text));
            if tick.dt.is_some() {
                tell_changes(&self.mounts, &found, tick, rows);
            }
            let asked = |mount: Mount| Asked { path: self.root.path(&mount.mount), mount, noted: false };
            self.mounts = found.into_iter().map(asked).collect();
        }
        let Some(dt) = tick.dt else { return Ok(()) };
        for asked in &mut self.mounts {
            let mount = &asked.mount;
            match rustix::fs::statvfs(&asked.path) {
                Ok(space) => emit(mount, &Space::of(&space), tick, dt, rows),
                Err(error) if !asked.noted => {
                    asked.noted = true;
                    rows.note(&mount.mount, None, &format!("cannot ask for the space of this file system: {error}"));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// The mounts that are shown: local types, each device or source once, the last one over a path.
fn chosen(mounts: Vec<Mount>) -> Vec<Mount> {
    let mut chosen: Vec<Mount> = Vec::new();
    for mount in mounts {
        // A later mount hides an earlier one on the same path.
        chosen.retain(|m| m.mount != mount.mount);
        let nameless = matches!(mount.fstype.as_str(), "tmpfs" | "overlay");
        let twice = !nameless && chosen.iter().any(|m| m.device == mount.device);
        if LOCAL_TYPES.contains(&mount.fstype.as_str()) && !twice {
            chosen.push(mount);
        }
    }
    chosen
}

fn tell_changes(before: &[Asked], after: &[Mount], tick: Tick, rows: &mut Rows) {
    for mount in after.iter().filter(|m| before.iter().all(|b| b.mount != **m)) {
        rows.event(tick.t, "appeared", &mount.mount, "file system");
    }
    for gone in before.iter().filter(|b| !after.contains(&b.mount)) {
        rows.event(tick.t, "gone", &gone.mount.mount, "file system");
    }
}

/// Space in bytes, and inodes.
#[derive(Clone, Copy)]
struct Space {
    total: f64,
    free: f64,
    available: f64,
    inodes: f64,
    inodes_free: f64,
}

impl Space {
    fn of(s: &rustix::fs::StatVfs) -> Space {
        let unit = s.f_frsize as f64;
        Space {
            total: s.f_blocks as f64 * unit,
            free: s.f_bfree as f64 * unit,
            available: s.f_bavail as f64 * unit,
            inodes: s.f_files as f64,
            inodes_free: s.f_ffree as f64,
        }
    }
}

fn emit(mount: &Mount, space: &Space, tick: Tick, dt: f64, rows: &mut Rows) {
    // A file system without any blocks is an interface of the kernel, not storage.
    if space.total <= 0.0 {
        return;
    }
    let used = space.total - space.free;
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole * 100.0);
    // btrfs makes inodes as it needs them and says 0.
    let has_inodes = space.inodes > 0.0;
    rows.row(&TABLE, tick.t, dt)
        .str(fs::mount, &*mount.mount)
        .str(fs::device, &*mount.device)
        .str(fs::fstype, &*mount.fstype)
        .f64(fs::total_bytes, space.total)
        .f64(fs::used_bytes, used)
        .f64(fs::available_bytes, space.available)
        .f64(fs::used, share(used, used + space.available))
        .f64(fs::inodes_total, has_inodes.then_some(space.inodes))
        .f64(fs::inodes_free, has_inodes.then_some(space.inodes_free))
        .f64(fs::inodes_used, share(space.inodes - space.inodes_free, space.inodes));
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows};

    use super::{Mount, SOURCE, Space, chosen, emit, parse_mounts};
    use crate::{
        Root, Source, SourceError, Tick,
        testing::{Machine, Observed, fixture, near},
    };

    #[test]
    fn of_the_captured_mounts_only_storage_is_shown() {
        let text = fs_err::read(fixture("fs").join("proc/self/mounts")).unwrap();
        let mounts: Vec<_> = chosen(parse_mounts(&text)).into_iter().map(|m| m.mount).collect();
        assert_eq!(mounts, ["/", "/dev/shm", "/sys/fs/cgroup"]);
    }

    #[test]
    fn a_network_file_system_is_never_asked_and_a_device_is_shown_once() {
        let text = b"/dev/sda1 / ext4 rw 0 0\nsrv:/home /home nfs4 rw 0 0\n/dev/sda1 /bind ext4 rw 0 0\n\
                     //nas/x /x cifs rw 0 0\ntmpfs /run tmpfs rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nsshfs /s fuse.sshfs rw 0 0\n\
                     /dev/sdb /tmp xfs rw 0 0\n";
        let mounts: Vec<_> = chosen(parse_mounts(text)).into_iter().map(|m| (m.mount, m.fstype)).collect();
        let shown: Vec<_> = mounts.iter().map(|(m, t)| (m.as_str(), t.as_str())).collect();
        assert_eq!(shown, [("/", "ext4"), ("/run", "tmpfs"), ("/tmp", "xfs")]);
    }

    #[test]
    fn used_is_what_df_shows() {
        let mount =
            Mount { device: "/dev/sda1".into(), mount: "/".into(), fstype: "ext4".into(), options: "rw".into() };
        let space = Space { total: 1000.0, free: 300.0, available: 200.0, inodes: 50.0, inodes_free: 40.0 };
        let mut rows = Rows::new("h");
        emit(&mount, &space, Tick::new(Micros(1), Some(10.0)), 10.0, &mut rows);
        let seen = Observed::of(rows);
        let get = |column| seen.value("fs", column, &["/"]);
        near(get("used_bytes"), 700.0);
        // 700 of the 900 that ordinary users may have, as df rounds up to 78 %.
        near(get("used"), 700.0 / 9.0);
        near(get("inodes_used"), 20.0);
    }

    #[test]
    fn the_live_root_has_space_and_a_saved_one_does_not() {
        let mut collector = SOURCE.start(&Root::live()).unwrap();
        let mut rows = Rows::new("h");
        collector.sample(Tick::new(Micros(1), None), &mut rows).unwrap();
        assert!(rows.is_empty());
        collector.sample(Tick::new(Micros(2), Some(10.0)), &mut rows).unwrap();
        let seen = Observed::of(rows);
        let total = seen.value("fs", "total_bytes", &["/"]).unwrap();
        let used = seen.value("fs", "used_bytes", &["/"]).unwrap();
        assert!(0.0 < used && used < total);

        let machine = Machine::new();
        machine.put("/proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\n");
        assert!(matches!(machine.try_start(&SOURCE), Err(SourceError::Unavailable { .. })));
    }
}
