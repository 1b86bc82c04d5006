//! Files below a folder, each inode once.

use std::path::{Path, PathBuf};

use fenxi_procfs::{FileId, id, is_cached_kind};
use rustc_hash::FxHashSet;
use rustix::fs::{AtFlags, CWD, FileType};

/// A file whose residency is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name for people.
    pub path: String,
    /// How to open it.
    pub open: PathBuf,
    /// Which file it is.
    pub id: FileId,
    /// Its size.
    pub size: u64,
}

/// The files below `at`, which people call `name`, or `at` itself when it is a file. Links are followed
/// where `follow` allows it for a path below the folder (`pg_tblspc/16384`), and nowhere else.
///
/// Files that go away meanwhile or cannot be read are left out and counted in the second result.
pub fn files(at: &Path, name: &Path, follow: &dyn Fn(&Path) -> bool) -> (Vec<Found>, usize) {
    let mut walk = Walk { found: Vec::new(), seen: FxHashSet::default(), unread: 0, follow };
    walk.visit(at, name, Path::new(""));
    (walk.found, walk.unread)
}

struct Walk<'a> {
    found: Vec<Found>,
    seen: FxHashSet<FileId>,
    unread: usize,
    follow: &'a dyn Fn(&Path) -> bool,
}

impl Walk<'_> {
    fn visit(&mut self, at: &Path, name: &Path, below: &Path) {
        let first = below.as_os_str().is_empty();
        let flags = if first || (self.follow)(below) { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        let Ok(stat) = rustix::fs::statat(CWD, at, flags) else { return };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        // Also holds links that lead in a circle.
        if !(is_folder || is_cached_kind(&stat)) || !self.seen.insert(id(&stat)) {
            return;
        }
        if !is_folder {
            let path = name.to_string_lossy().into_owned();
            self.found.push(Found { path, open: at.to_owned(), id: id(&stat), size: stat.st_size.max(0) as u64 });
            return;
        }
        let Ok(entries) = fs_err::read_dir(at) else {
            self.unread += 1;
            return;
        };
        // In order, so that a file of several names is called the same each time.
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for file_name in names {
            self.visit(&at.join(&file_name), &name.join(&file_name), &below.join(&file_name));
        }
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn each_inode_is_found_once_and_only_chosen_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        fs::create_dir_all(at.join("data/sub")).unwrap();
        fs::create_dir_all(at.join("other")).unwrap();
        fs::write(at.join("data/a"), "12345").unwrap();
        fs::hard_link(at.join("data/a"), at.join("data/sub/again")).unwrap();
        fs::write(at.join("other/b"), "1").unwrap();
        fs_err::os::unix::fs::symlink(at.join("other"), at.join("data/link")).unwrap();
        fs_err::os::unix::fs::symlink("..", at.join("data/sub/circle")).unwrap();
        let names = |follow: &dyn Fn(&Path) -> bool| {
            let (found, unread) = files(&at.join("data"), Path::new("D"), follow);
            assert_eq!(unread, 0);
            let mut names: Vec<_> = found.into_iter().map(|f| (f.path, f.size)).collect();
            names.sort();
            names
        };
        assert_eq!(names(&|_| false).len(), 1);
        let followed = names(&|_| true);
        assert_eq!(followed.len(), 2);
        assert_eq!(followed, [("D/a".to_owned(), 5), ("D/link/b".to_owned(), 1)]);
        assert_eq!(files(&at.join("none"), Path::new("none"), &|_| false), (Vec::new(), 0));
    }
}
