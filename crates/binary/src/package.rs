//! Which package a file is from, by the lists of dpkg, apk and pacman.

use std::collections::BTreeMap;

use fenxi_procfs::Root;
use serde::Serialize;

/// A package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

const DPKG: &str = "/var/lib/dpkg";
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
    each_file(root, &mut |package, version, path| {
        for i in wanted.get(path).into_iter().flatten() {
            found[*i] = Some(Owner { name: package.to_owned(), version: version.map(str::to_owned) });
        }
    });
    if found.iter().flatten().any(|owner| owner.version.is_none()) {
        let versions = dpkg_versions(root);
        for owner in found.iter_mut().flatten().filter(|owner| owner.version.is_none()) {
            owner.version = versions.get(&owner.name).cloned();
        }
    }
    found
}

/// Files of a package; empty when there is no such package.
pub fn files_of(root: &Root, package: &str) -> Vec<String> {
    let mut files = Vec::new();
    each_file(root, &mut |of, _, path| {
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

/// Visits each file of each package: the package, its version where the list has it, the path.
fn each_file(root: &Root, visit: &mut dyn FnMut(&str, Option<&str>, &str)) {
    let info = format!("{DPKG}/info");
    for (name, _) in root.list(&info).unwrap_or_default() {
        let name = name.to_string_lossy();
        let Some(package) = name.strip_suffix(".list") else { continue };
        let list = root.read(&format!("{info}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&list).lines().for_each(|path| visit(package, None, path));
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

/// Versions of dpkg's packages, also under the name with the machine that some lists have.
fn dpkg_versions(root: &Root) -> BTreeMap<String, String> {
    let status = root.read(&format!("{DPKG}/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mut versions = BTreeMap::new();
    for paragraph in status.split("\n\n") {
        let field =
            |name: &str| paragraph.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.trim()));
        if let (Some(name), Some(version)) = (field("Package"), field("Version")) {
            versions.insert(name.to_owned(), version.to_owned());
            if let Some(machine) = field("Architecture") {
                versions.insert(format!("{name}:{machine}"), version.to_owned());
            }
        }
    }
    versions
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
