//! Which package a file is from, by the lists of dpkg, apk and pacman.

use std::collections::BTreeMap;

use fenxi_procfs::Root;
use memchr::memmem::Finder;
use serde::Serialize;

/// A package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// Where dpkg keeps its packages, and a list of files for each.
pub const DPKG_STATUS: &str = "/var/lib/dpkg/status";
const DPKG_LISTS: &str = "/var/lib/dpkg/info";
const APK: [&str; 2] = ["/lib/apk/db/installed", "/usr/lib/apk/db/installed"];
const PACMAN: &str = "/var/lib/pacman/local";

/// The packages of files, each at its place; None for those of none.
pub fn owners(root: &Root, paths: &[&str]) -> Vec<Option<Owner>> {
    let mut wanted: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, path) in paths.iter().enumerate() {
        for name in names(root, path) {
            wanted.entry(name).or_default().push(i);
        }
    }
    let mut found: Vec<Option<Owner>> = vec![None; paths.len()];
    // Recordings begin with this: of the many lists of dpkg only those are taken apart in which a path is.
    let finders: Vec<Finder<'_>> = wanted.keys().map(Finder::new).collect();
    let may_have = |list: &[u8]| finders.iter().any(|finder| finder.find(list).is_some());
    each_file(root, &may_have, &mut |package, version, path| {
        for i in wanted.get(path).into_iter().flatten() {
            found[*i] = Some(Owner { name: package.to_owned(), version: version.map(str::to_owned) });
        }
    });
    if found.iter().flatten().any(|owner| owner.version.is_none()) {
        let status = root.read(DPKG_STATUS).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        for owner in found.iter_mut().flatten().filter(|owner| owner.version.is_none()) {
            // Some lists have the machine behind the name.
            let (name, machine) = owner.name.split_once(':').map_or((&*owner.name, None), |(n, m)| (n, Some(m)));
            let is_it = |known: &DpkgEntry<'_>| known.name == name && (machine.is_none() || known.machine == machine);
            owner.version = dpkg_entries(&status).filter(is_it).last().map(|known| known.version.to_owned());
        }
    }
    found
}

/// Files of a package; empty when there is no such package.
pub fn files_of(root: &Root, package: &str) -> Vec<String> {
    let mut files = Vec::new();
    each_file(root, &|_| true, &mut |of, _, path| {
        if of == package || of.split(':').next() == Some(package) {
            files.push(path.to_owned());
        }
    });
    files
}

/// Names under which a list may have a file: `/lib` and `/bin` are folders of `/usr` by now, and lists are older.
fn names(root: &Root, path: &str) -> Vec<String> {
    let mut names = vec![path.to_owned()];
    if root.is_live()
        && let Ok(real) = fs_err::canonicalize(path)
    {
        names.push(real.to_string_lossy().into_owned());
    }
    for name in names.clone() {
        names.push(name.strip_prefix("/usr").map_or_else(|| format!("/usr{name}"), str::to_owned));
    }
    names.sort();
    names.dedup();
    names
}

/// Visits each file of each package: the package, its version where the list has it, the path. Lists of dpkg that `may_have` is not
/// true of are left out.
fn each_file(root: &Root, may_have: &dyn Fn(&[u8]) -> bool, visit: &mut dyn FnMut(&str, Option<&str>, &str)) {
    for (name, _) in root.list(DPKG_LISTS).unwrap_or_default() {
        let name = name.to_string_lossy();
        let Some(package) = name.strip_suffix(".list") else { continue };
        let list = root.read(&format!("{DPKG_LISTS}/{name}")).unwrap_or_default();
        if may_have(&list) {
            String::from_utf8_lossy(&list).lines().for_each(|path| visit(package, None, path));
        }
    }
    for list in APK {
        let list = root.read(list).unwrap_or_default();
        let (mut package, mut version, mut folder) = (String::new(), String::new(), String::new());
        for line in String::from_utf8_lossy(&list).lines() {
            match line.split_once(':') {
                Some(("P", name)) => package = name.to_owned(),
                Some(("V", text)) => version = text.to_owned(),
                Some(("F", text)) => folder = text.to_owned(),
                Some(("R", file)) => visit(&package, Some(&version), &format!("/{folder}/{file}")),
                _ => {}
            }
        }
    }
    for (name, _) in root.list(PACMAN).unwrap_or_default() {
        let name = name.to_string_lossy();
        let mut parts = name.rsplitn(3, '-');
        let (Some(release), Some(version), Some(package)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let list = root.read(&format!("{PACMAN}/{name}/files")).unwrap_or_default();
        let version = format!("{version}-{release}");
        let list = String::from_utf8_lossy(&list);
        let files = list.lines().skip_while(|line| *line != "%FILES%").skip(1).take_while(|line| !line.is_empty());
        files.for_each(|path| visit(package, Some(&version), &format!("/{path}")));
    }
}

/// A package in the list of dpkg.
#[derive(Clone, Copy, Debug)]
pub struct DpkgEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// `install ok installed`, where it is.
    pub status: Option<&'a str>,
    /// The machine that it is for.
    pub machine: Option<&'a str>,
    /// True if those of several machines may be installed at once.
    pub has_several: bool,
}

/// The packages in the text of [`DPKG_STATUS`].
pub fn dpkg_entries(list: &str) -> impl Iterator<Item = DpkgEntry<'_>> {
    list.split("\n\n").filter_map(|paragraph| {
        let field =
            |name: &str| paragraph.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.trim()));
        Some(DpkgEntry {
            name: field("Package")?,
            version: field("Version")?,
            status: field("Status"),
            machine: field("Architecture"),
            has_several: field("Multi-Arch") == Some("same"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_package_of_each_kind_of_list() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        write("var/lib/dpkg/info/libc6:amd64.list", "/.\n/lib/x86_64-linux-gnu/libc.so.6\n");
        write("var/lib/dpkg/status", "Package: libc6\nArchitecture: amd64\nVersion: 2.36-9\n");
        write("lib/apk/db/installed", "P:musl\nV:1.2.4-r2\nF:lib\nR:ld-musl-x86_64.so.1\n\n");
        write("var/lib/pacman/local/zstd-1.5.6-1/files", "%FILES%\nusr/\nusr/bin/zstd\n\n%BACKUP%\nusr/bin/no\n");
        let root = Root::saved(dir.path());
        let paths = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib/ld-musl-x86_64.so.1", "/usr/bin/zstd", "/usr/bin/no"];
        let found: Vec<_> =
            owners(&root, &paths).into_iter().map(|o| o.map(|o| (o.name, o.version.unwrap()))).collect();
        let owner = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
        let expected = [owner("libc6:amd64", "2.36-9"), owner("musl", "1.2.4-r2"), owner("zstd", "1.5.6-1"), None];
        assert_eq!(found, expected);
        assert_eq!(files_of(&root, "libc6"), ["/.", "/lib/x86_64-linux-gnu/libc.so.6"]);
        assert!(files_of(&root, "none").is_empty());
    }
}
