//! cgroup v2: CPU, memory, I/O, pressure and limits of each group.
//!
//! The hierarchy is wherever /proc/self/mountinfo says a `cgroup2` is mounted. A group that used no
//! CPU time and did no I/O in the interval has no row: reading everything of hundreds of idle groups
//! at each tick would cost more than all other sources together; its pressure and major faults show
//! as means over the time since it last had a row. At most [`MAX_GROUPS`] groups are
//! observed, nearest to the root first, down to [`MAX_DEPTH`]; what is cut off is noted.

mod files;
mod group;

use fenxi_model::{Rows, catalog::cgroup::TABLE};
use fenxi_procfs::{
    cgroup::version2,
    scan::{lines, number},
};
use files::{Budget, File, Shared};
use group::Group;
use rustc_hash::FxHashSet;

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// How many groups are observed at most.
const MAX_GROUPS: usize = 512;
/// How many levels below the root are observed.
const MAX_DEPTH: usize = 12;
/// Seconds after which groups are listed anew although their number is the same.
const LIST_AGE_S: f64 = 10.0;

pub struct Cgroup;

/// The source.
pub static SOURCE: Cgroup = Cgroup;

static SPEC: Spec = Spec {
    name: "cgroup",
    summary: "control groups (version 2): CPU, memory, I/O, pressure, limits",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

impl Source for Cgroup {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let mountinfo = root.read("/proc/self/mountinfo")?;
        let why = || "no cgroup2 is mounted; boot with systemd.unified_cgroup_hierarchy=1 or mount one".to_owned();
        let mount = version2(&mountinfo)
            .ok_or_else(|| SourceError::Unavailable { what: "control groups of version 2", why: why() })?;
        let top = mount.point.trim_end_matches('/').to_owned();
        let mut shared = Shared::new(root.clone(), Budget::of_process());
        if !root.is_dir(&top) {
            let why = format!("{} is not there", root.path(&top).display());
            return Err(SourceError::Unavailable { what: "control groups of version 2", why });
        }
        let stat = File::new(&top, "cgroup.stat", &mut shared);
        Ok(Box::new(Groups { top, shared, stat, groups: Vec::new(), descendants: None, list_age_s: 0.0, noted: false }))
    }
}

struct Groups {
    /// Where they are, without a slash at the end.
    top: String,
    shared: Shared,
    /// The root's `cgroup.stat`, which tells how many groups there are.
    stat: File,
    groups: Vec<Group>,
    descendants: Option<u64>,
    list_age_s: f64,
    /// Whether it was noted that groups are left out.
    noted: bool,
}

impl Collector for Groups {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let stat = self.stat.read(&mut self.shared);
        let descendants = stat.and_then(|t| lines(t).find_map(|l| number(l.strip_prefix(b"nr_descendants ")?)));
        self.list_age_s += tick.dt.unwrap_or(LIST_AGE_S);
        if descendants != self.descendants || descendants.is_none() || self.list_age_s >= LIST_AGE_S {
            self.descendants = descendants;
            self.list_age_s = 0.0;
            self.list(tick, rows);
        }
        let mut next = 0;
        while let Some(group) = self.groups.get_mut(next) {
            if group.sample(&mut self.shared, tick, rows) {
                next += 1;
            } else {
                self.forget(next, tick, rows);
                // It may have been made anew under the same name, so that their number is the same.
                self.list_age_s = LIST_AGE_S;
            }
        }
        Ok(())
    }
}

impl Groups {
    /// Lists the groups anew, level by level.
    fn list(&mut self, tick: Tick, rows: &mut Rows) {
        let mut found: Vec<String> = vec!["/".to_owned()];
        let (mut next, mut cut) = (0, false);
        while let Some(path) = found.get(next).cloned() {
            next += 1;
            let children = children(&self.shared.root, &self.folder(&path));
            let depth = path.split('/').filter(|part| !part.is_empty()).count();
            if depth >= MAX_DEPTH {
                cut |= !children.is_empty();
                continue;
            }
            for child in children {
                if found.len() == MAX_GROUPS {
                    cut = true;
                    break;
                }
                found.push(format!("{}/{child}", path.trim_end_matches('/')));
            }
        }
        if cut && !self.noted {
            self.noted = true;
            let message =
                format!("only the {MAX_GROUPS} groups nearest to the root, {MAX_DEPTH} deep at most, are observed");
            rows.note(&self.shared.root.path(&self.top).display().to_string(), None, &message);
        }
        let listed: FxHashSet<&str> = found.iter().map(String::as_str).collect();
        let gone = |g: &Group| !listed.contains(&*g.path);
        while let Some(place) = self.groups.iter().position(gone) {
            self.forget(place, tick, rows);
        }
        let known: FxHashSet<&str> = self.groups.iter().map(|g| &*g.path).collect();
        let new: Vec<&String> = found.iter().filter(|path| !known.contains(path.as_str())).collect();
        for path in new {
            if tick.dt.is_some() {
                rows.event(tick.t, "appeared", path, "control group");
            }
            let folder = self.folder(path);
            self.groups.push(Group::new(path, &folder, &mut self.shared));
        }
    }

    /// The folder of the group `path`, without a slash at the end.
    fn folder(&self, path: &str) -> String {
        format!("{}{}", self.top, path.trim_end_matches('/'))
    }

    /// Tells that a group is gone, and closes its files.
    fn forget(&mut self, place: usize, tick: Tick, rows: &mut Rows) {
        let group = self.groups.remove(place);
        rows.event(tick.t, "gone", &group.path, "control group");
        group.close(&mut self.shared);
    }
}

/// Names of the groups directly below a group, in order.
fn children(root: &Root, folder: &str) -> Vec<String> {
    let found = root.list(folder).unwrap_or_default();
    let folders = found.iter().filter(|(_, is_folder)| *is_folder);
    let mut names: Vec<String> = folders.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;
