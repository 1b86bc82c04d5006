//! Space and inodes of mounted file systems.
//!
//! Mounts come from /proc/self/mounts; sizes from the statvfs system call, so a saved root has none.
//! Only types of file systems that live on this machine are asked: a network file system whose
//! server is dead would hold the recorder for minutes. One file system that is mounted in several
//! places is shown at the first of them. A row each ten seconds shows how one fills; one that filled or emptied by a
//! hundredth has a row at once, so that what is full for a moment is seen.

mod mounts;

use std::path::PathBuf;

pub use mounts::{Mount, parse as parse_mounts};

use fenxi_model::{
    Rows,
    catalog::fs::{self, TABLE},
};

use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

const FILE: &str = "/proc/self/mounts";

/// Types with their own storage on this machine. Others (network, FUSE, kernel interfaces) are
/// left out.
const LOCAL_TYPES: &[&str] = &[
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "reiserfs", "reiser4", "nilfs2", "udf",
    "ntfs", "ntfs3", "vfat", "exfat", "msdos", "hfs", "hfsplus", "minix", "ocfs2", "gfs2", "tmpfs", "overlay",
];

/// Seconds after which each file system has another row.
const SELDOM_S: f64 = 10.0;
/// Seconds after which file systems are asked again, at the earliest.
const OFTEN_S: f64 = 1.0;
/// Percent of its space or inodes by which a file system has changed when a row shows it at once.
const MOVED: f64 = 1.0;
/// A little early is in time: the next tick would be a whole interval late.
const EARLY_S: f64 = 0.005;

pub struct Fs;

/// The source.
pub static SOURCE: Fs = Fs;

static SPEC: Spec = Spec {
    name: "fs",
    summary: "space and inodes of local file systems (statvfs of /proc/self/mounts)",
    tables: &[&TABLE],
    take: Take::EveryTick,
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
        Ok(Box::new(FileSystems {
            file: root.open(FILE)?,
            root: root.clone(),
            text: Vec::new(),
            mounts: Vec::new(),
            asked_s: 0.0,
        }))
    }
}

struct FileSystems {
    file: ProcFile,
    root: Root,
    /// The mounts as they were listed at the sample before: they seldom change.
    text: Vec<u8>,
    mounts: Vec<MountState>,
    /// Seconds since they were asked.
    asked_s: f64,
}

struct MountState {
    mount: Mount,
    path: PathBuf,
    /// Its row at the sample before, or what it was at the first.
    shown: Option<Space>,
    /// Seconds since then.
    since_s: f64,
    /// Whether a failure was noted already.
    noted: bool,
}

impl Collector for FileSystems {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let dt = tick.dt.unwrap_or_default();
        self.asked_s += dt;
        self.mounts.iter_mut().for_each(|asked| asked.since_s += dt);
        let is_first = self.text.is_empty();
        if is_first || tick.is_last || self.asked_s >= OFTEN_S - EARLY_S {
            self.asked_s = 0.0;
            if is_first || self.file.has_changed() {
                self.list(tick, rows)?;
            }
            self.mounts.iter_mut().for_each(|asked| asked.ask(tick, rows));
        }
        Ok(())
    }
}

impl FileSystems {
    fn list(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let text = self.file.read()?;
        if text == self.text {
            return Ok(());
        }
        self.text = text.to_owned();
        let found = chosen(mounts::parse(text));
        if tick.dt.is_some() {
            report_changes(&self.mounts, &found, tick, rows);
        }
        let mut before = std::mem::take(&mut self.mounts);
        let dt = tick.dt.unwrap_or_default();
        self.mounts = found
            .into_iter()
            .map(|mount| match before.iter().position(|asked| asked.mount == mount) {
                Some(place) => before.swap_remove(place),
                None => {
                    MountState { path: self.root.path(&mount.mount), mount, shown: None, since_s: dt, noted: false }
                }
            })
            .collect();
        Ok(())
    }
}

impl MountState {
    fn ask(&mut self, tick: Tick, rows: &mut Rows) {
        let mount = &self.mount;
        match rustix::fs::statvfs(&self.path) {
            Ok(space) => self.add_row(Space::from_statvfs(&space), tick, rows),
            Err(error) if !self.noted && tick.dt.is_some() => {
                self.noted = true;
                rows.note(&mount.mount, None, &format!("cannot ask for the space of this file system: {error}"));
            }
            Err(_) => {}
        }
    }

    /// Gives a row of `space` if it is time, or if it has moved.
    fn add_row(&mut self, space: Space, tick: Tick, rows: &mut Rows) {
        if tick.dt.is_some() {
            let is_due = tick.is_last || self.since_s >= SELDOM_S - EARLY_S;
            if !is_due && self.shown.is_some_and(|shown| !space.has_moved(&shown)) {
                return;
            }
            if self.since_s > 0.0 {
                emit(&self.mount, &space, tick, self.since_s, rows);
            }
            self.since_s = 0.0;
        }
        self.shown = Some(space);
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

fn report_changes(before: &[MountState], after: &[Mount], tick: Tick, rows: &mut Rows) {
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
    fn from_statvfs(s: &rustix::fs::StatVfs) -> Space {
        let unit = s.f_frsize as f64;
        Space {
            total: s.f_blocks as f64 * unit,
            free: s.f_bfree as f64 * unit,
            available: s.f_bavail as f64 * unit,
            inodes: s.f_files as f64,
            inodes_free: s.f_ffree as f64,
        }
    }

    /// Percent of the space that ordinary users may have.
    fn used(&self) -> Option<f64> {
        let used = self.total - self.free;
        percent(used, used + self.available)
    }

    /// Percent of the inodes; btrfs makes them as it needs them and reports 0.
    fn inodes_used(&self) -> Option<f64> {
        percent(self.inodes - self.inodes_free, self.inodes)
    }

    fn has_moved(&self, since: &Space) -> bool {
        let moved = |now: Option<f64>, then: Option<f64>| match (now, then) {
            (Some(now), Some(then)) => (now - then).abs() >= MOVED,
            (now, then) => now.is_some() != then.is_some(),
        };
        moved(self.used(), since.used()) || moved(self.inodes_used(), since.inodes_used())
    }
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole * 100.0)
}

fn emit(mount: &Mount, space: &Space, tick: Tick, dt: f64, rows: &mut Rows) {
    // A file system without any blocks is an interface of the kernel, not storage.
    if space.total <= 0.0 {
        return;
    }
    let has_inodes = space.inodes > 0.0;
    rows.row(&TABLE, tick.t, dt)
        .str(fs::mount, &*mount.mount)
        .str(fs::device, &*mount.device)
        .str(fs::fstype, &*mount.fstype)
        .f64(fs::total_bytes, space.total)
        .f64(fs::used_bytes, space.total - space.free)
        .f64(fs::available_bytes, space.available)
        .f64(fs::used, space.used())
        .f64(fs::inodes_total, has_inodes.then_some(space.inodes))
        .f64(fs::inodes_free, has_inodes.then_some(space.inodes_free))
        .f64(fs::inodes_used, space.inodes_used());
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows};

    use super::{Mount, MountState, SOURCE, Space, chosen, emit, parse_mounts};
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
    fn a_row_comes_each_ten_seconds_and_at_once_when_it_moved() {
        let mount =
            Mount { device: "/dev/sda1".into(), mount: "/".into(), fstype: "ext4".into(), options: "rw".into() };
        let mut asked = MountState { path: "/".into(), mount, shown: None, since_s: 0.0, noted: false };
        let mut rows_at = |second: i64, available: f64, is_last: bool| {
            let space = Space { total: 1000.0, free: available, available, inodes: 0.0, inodes_free: 0.0 };
            let mut rows = Rows::new("h");
            let dt = (second > 0).then_some(1.0);
            asked.since_s += dt.unwrap_or_default();
            asked.add_row(space, Tick { is_last, ..Tick::new(Micros(second), dt) }, &mut rows);
            rows.len()
        };
        let reported = |seconds: std::ops::Range<i64>, available, rows_at: &mut dyn FnMut(i64, f64, bool) -> usize| {
            seconds.map(|s| rows_at(s, available, false)).collect::<Vec<_>>()
        };
        assert_eq!(reported(0..12, 500.0, &mut rows_at), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        // A hundredth more is reported at once, half of it is not.
        assert_eq!(reported(12..15, 490.0, &mut rows_at), [1, 0, 0]);
        assert_eq!(reported(15..17, 485.0, &mut rows_at), [0, 0]);
        assert_eq!(rows_at(17, 485.0, true), 1);
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
