//! Control groups: where their hierarchies are mounted and in which group a process is.

use std::path::PathBuf;

use crate::{
    Root,
    mountinfo::{Mount, mounts},
};

/// Where the first cgroup version 2 hierarchy of a mountinfo is mounted.
pub fn version2(mountinfo: &[u8]) -> Option<Mount> {
    mounts(mountinfo).find(|mount| mount.fstype == "cgroup2")
}

/// Where the version 1 hierarchies with `controller` are mounted, in the order of mountinfo.
pub fn version1<'a>(mountinfo: &'a [u8], controller: &'a str) -> impl Iterator<Item = Mount> + 'a {
    mounts(mountinfo).filter(move |mount| mount.is_controller(controller))
}

/// The path of a process's group in its hierarchy, from `/proc/PID/cgroup`: of version 1 with `controller`, of version 2
/// when `controller` is empty.
pub fn path_of<'a>(cgroup: &'a str, controller: &str) -> Option<&'a str> {
    cgroup.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// The folder of the group of `pid` in the hierarchy of version 1 with `controller`; of version 2 when that is empty.
pub fn folder_of(root: &Root, pid: u32, controller: &str) -> Option<PathBuf> {
    let groups = root.read_text(&format!("/proc/{pid}/cgroup"))?;
    let path = path_of(&groups, controller)?;
    let mountinfo = root.read("/proc/self/mountinfo").ok()?;
    let folder = |mount: Mount| {
        // A container sees the hierarchy from its own group on.
        let below = path.strip_prefix(mount.root.trim_end_matches('/'))?;
        Some(root.path(&mount.point).join(below.trim_start_matches('/')))
    };
    if controller.is_empty() {
        mounts(&mountinfo).filter(|mount| mount.fstype == "cgroup2").find_map(folder)
    } else {
        version1(&mountinfo, controller).find_map(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_one_group_of_each_hierarchy() {
        let text = "5:cpuset:/a\n4:cpu,cpuacct:/b:c\n0::/system.slice/x.service\n";
        assert_eq!((path_of(text, "cpuset"), path_of(text, "cpuacct")), (Some("/a"), Some("/b:c")));
        assert_eq!((path_of(text, ""), path_of(text, "memory")), (Some("/system.slice/x.service"), None));
    }

    #[test]
    fn the_folder_of_a_group_is_below_its_mount() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        put("proc/7/cgroup", "2:cpuset:/box/a\n0::/box/b\n");
        put(
            "proc/self/mountinfo",
            "30 24 0:30 /box /cpuset rw - cgroup cgroup rw,cpuset\n31 24 0:31 / /two rw - cgroup2 cgroup2 rw\n",
        );
        let root = Root::saved(dir.path());
        assert_eq!(folder_of(&root, 7, "cpuset"), Some(dir.path().join("cpuset/a")));
        assert_eq!(folder_of(&root, 7, ""), Some(dir.path().join("two/box/b")));
        assert_eq!((folder_of(&root, 7, "memory"), folder_of(&root, 8, "")), (None, None));
    }
}
