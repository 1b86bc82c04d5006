//! Control groups: CPU, memory, I/O, pressure and limits of each group.
//!
//! Version 2 where it has the controllers, wherever /proc/self/mountinfo lists a `cgroup2` mount. Else version 1, whose
//! controllers have a hierarchy each: a group has one row with what all of them know under its path, and knows no pressure;
//! the root's figures are still those of version 2 where that is mounted beside. A group that used no
//! CPU time and did no I/O in the interval has no row: reading everything of hundreds of idle groups
//! at each tick would cost more than all other sources together; its pressure and major faults show
//! as means over the time since it last had a row. At most [`MAX_GROUPS`] groups are
//! observed, nearest to the root first, down to [`MAX_DEPTH`]; what is cut off is noted.

mod files;
mod group;
mod version1;
mod version2;

use fenxi_model::{Rows, catalog::cgroup::TABLE};
use fenxi_procfs::{
    cgroup,
    containers::Containers,
    scan::{lines, number, words},
};
use files::{Budget, File, Shared};
use group::{Files, Group};
use rustc_hash::FxHashSet;
use version1::{CONTROLLERS, Tops};

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
    summary: "control groups: CPU, memory, I/O, pressure, limits",
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
        let point = |mount: fenxi_procfs::mountinfo::Mount| {
            let point = mount.point.trim_end_matches('/').to_owned();
            root.is_dir(&point).then_some(point)
        };
        let two = cgroup::version2(&mountinfo).and_then(point);
        let one: Tops = CONTROLLERS.map(|controller| cgroup::version1(&mountinfo, controller).find_map(point));
        // Where version 1 has the controllers, groups of version 2 are but names.
        let has_controllers = |top: &String| {
            let controllers = root.read_text(&format!("{top}/cgroup.controllers")).unwrap_or_default();
            controllers.split_ascii_whitespace().any(|name| matches!(name, "cpu" | "memory"))
        };
        let one = if two.as_ref().is_some_and(has_controllers) { Tops::default() } else { one };
        let is_one = one.iter().any(Option::is_some);
        if two.is_none() && !is_one {
            let why = "neither a cgroup2 nor a controller of version 1 is mounted".to_owned();
            return Err(SourceError::Unavailable { what: "control groups", why });
        }
        let mut shared = Shared::new(root.clone(), Budget::of_process());
        let counted = match &two {
            Some(top) if !is_one => File::new(top, "cgroup.stat", &mut shared),
            _ => File::new("/proc", "cgroups", &mut shared),
        };
        Ok(Box::new(Groups {
            containers: Containers::new(root),
            two,
            one,
            is_one,
            shared,
            counted,
            groups: Vec::new(),
            number: None,
            list_age_s: 0.0,
            noted: false,
        }))
    }
}

struct Groups {
    /// Which groups are containers, and what they are called.
    containers: Containers,
    /// Where version 2 is, without a slash at the end.
    two: Option<String>,
    /// Where the controllers of version 1 are.
    one: Tops,
    /// Whether groups are those of version 1.
    is_one: bool,
    shared: Shared,
    /// The file with the number of groups: the root's `cgroup.stat`, or `/proc/cgroups`.
    counted: File,
    groups: Vec<Group>,
    number: Option<u64>,
    list_age_s: f64,
    /// Whether it was noted that groups are left out.
    noted: bool,
}

impl Collector for Groups {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let is_one = self.is_one;
        let number = self.counted.read(&mut self.shared).and_then(|text| count(text, is_one));
        self.list_age_s += tick.dt.unwrap_or(LIST_AGE_S);
        if number != self.number || number.is_none() || self.list_age_s >= LIST_AGE_S {
            self.number = number;
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
            let children = self.children(&path);
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
            let top = self.tops().next().unwrap_or_default();
            rows.note(&self.shared.root.path(top).display().to_string(), None, &message);
        }
        let listed: FxHashSet<&str> = found.iter().map(String::as_str).collect();
        let gone = |g: &Group| !listed.contains(&*g.path);
        while let Some(place) = self.groups.iter().position(gone) {
            self.forget(place, tick, rows);
        }
        self.containers.refresh();
        for group in self.groups.iter_mut().filter(|group| group.container.is_none()) {
            group.container = self.containers.of(&group.path);
        }
        let known: FxHashSet<&str> = self.groups.iter().map(|g| &*g.path).collect();
        let new: Vec<&String> = found.iter().filter(|path| !known.contains(path.as_str())).collect();
        for path in new {
            if tick.dt.is_some() {
                rows.event(tick.t, "appeared", path, "control group");
            }
            let files = match &self.two {
                Some(top) if !self.is_one || path == "/" => {
                    let folder = format!("{top}{}", path.trim_end_matches('/'));
                    Files::Two(Box::new(version2::Files::new(&folder, &mut self.shared)))
                }
                _ => Files::One(Box::new(version1::Files::new(&self.one, path, &mut self.shared))),
            };
            let container = self.containers.of(path);
            self.groups.push(Group::new(path, container, files));
        }
    }

    /// Where the hierarchies are whose groups are observed.
    fn tops(&self) -> impl Iterator<Item = &str> {
        let two = self.two.iter().filter(|_| !self.is_one);
        let mut seen = FxHashSet::default();
        self.one.iter().flatten().chain(two).map(String::as_str).filter(move |top| seen.insert(*top))
    }

    /// Names of the groups directly below a group, in order.
    fn children(&self, path: &str) -> Vec<String> {
        let mut names = Vec::new();
        for top in self.tops() {
            let found = self.shared.root.list(&format!("{top}{}", path.trim_end_matches('/'))).unwrap_or_default();
            let folders = found.iter().filter(|(_, is_folder)| *is_folder);
            names.extend(folders.map(|(name, _)| name.to_string_lossy().into_owned()));
        }
        names.sort();
        names.dedup();
        names
    }

    /// Reports that a group is gone, and closes its files.
    fn forget(&mut self, place: usize, tick: Tick, rows: &mut Rows) {
        let group = self.groups.remove(place);
        rows.event(tick.t, "gone", &group.path, "control group");
        self.containers.forget(&group.path);
        group.close(&mut self.shared);
    }
}

/// How many groups there are: of `nr_descendants 3`, or of version 1 all that `/proc/cgroups` shows in its third column.
fn count(text: &[u8], is_one: bool) -> Option<u64> {
    if is_one {
        let of_controller = |line| number(words(line).nth(2)?);
        return Some(lines(text).filter(|line| !line.starts_with(b"#")).filter_map(of_controller).sum());
    }
    lines(text).find_map(|line| number(line.strip_prefix(b"nr_descendants ")?))
}

#[cfg(test)]
mod tests;
