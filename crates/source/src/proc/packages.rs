//! `packages`: what software is installed, read once at the start, so that a comparison names the patch that made a
//! difference. Changes meanwhile are marked.
//!
//! The lists of dpkg, apk and pacman are read as they lie on the disk. That of rpm is a database; what
//! `rpm -qa` prints can be kept as a fact that is given.

use fenxi_binary::{DPKG_STATUS, DpkgEntry, dpkg_entries};
use fenxi_model::{
    Rows,
    catalog::text::{self, TABLE},
};

use super::facts::{Facts, names, report_changes};
use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `packages` source.
pub static SOURCE: Packages = Packages;

static SPEC: Spec = Spec {
    name: "packages",
    summary: "installed packages and their versions, at the start; changes are marked",
    tables: &[&TABLE],
    take: Take::StartAndEnd,
    default: true,
    live: false,
};

/// The topic of the facts.
const TOPIC: &str = "package";
/// Where apk keeps its list: as it is, and as it will be.
const APK: [&str; 2] = ["/lib/apk/db/installed", "/usr/lib/apk/db/installed"];
/// Where pacman keeps a folder for each package.
const PACMAN: &str = "/var/lib/pacman/local";

/// Collects facts of the topic `package`.
pub struct Packages;

impl Source for Packages {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let rpm = ["/var/lib/rpm", "/usr/lib/sysimage/rpm"].iter().any(|folder| root.is_dir(folder));
        let known = root.exists(DPKG_STATUS) || APK.iter().any(|list| root.exists(list)) || root.is_dir(PACMAN);
        match (known, rpm) {
            (true, _) => Ok(Box::new(Reader { root: root.clone(), start: None })),
            (false, true) => Err(SourceError::Unavailable {
                what: "the list of packages",
                why: "rpm keeps it in a database; record it with --fact packages='$(rpm -qa | sort)'".to_owned(),
            }),
            (false, false) => Err(SourceError::Unavailable {
                what: "the list of packages",
                why: "there is none of dpkg, apk or pacman".to_owned(),
            }),
        }
    }
}

struct Reader {
    root: Root,
    start: Option<Facts>,
}

impl Collector for Reader {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let now = read(&self.root);
        match &self.start {
            Some(start) if tick.dt.is_some() => report_changes(start, &now, tick, rows),
            _ => {
                for (topic, name, version) in now.each() {
                    let mut row = rows.row(&TABLE, tick.t, None);
                    row.str(text::topic, topic).str(text::name, name).text(text::value, version);
                }
                self.start = Some(now);
            }
        }
        Ok(())
    }
}

fn read(root: &Root) -> Facts {
    let mut facts = Facts::default();
    if let Ok(list) = root.read(DPKG_STATUS) {
        dpkg(&String::from_utf8_lossy(&list), &mut facts);
    }
    if let Some(list) = APK.iter().find_map(|list| root.read(list).ok()) {
        apk(&String::from_utf8_lossy(&list), &mut facts);
    }
    for folder in names(root, PACMAN) {
        // `linux-lts-6.12.1-1`: a name, a version, a release.
        let mut parts = folder.rsplitn(3, '-');
        if let (Some(release), Some(version), Some(name)) = (parts.next(), parts.next(), parts.next()) {
            facts.add(TOPIC, name, format!("{version}-{release}"));
        }
    }
    facts
}

/// Packages that are wholly installed. One of which several machines' may be installed at once is named with its machine,
/// as `dpkg -l` does.
fn dpkg(list: &str, facts: &mut Facts) {
    let is_installed = |entry: &DpkgEntry<'_>| entry.status.is_some_and(|status| status.ends_with(" installed"));
    for DpkgEntry { name, version, machine, has_several, .. } in dpkg_entries(list).filter(is_installed) {
        let machine = machine.filter(|_| has_several);
        let name = machine.map_or_else(|| name.to_owned(), |machine| format!("{name}:{machine}"));
        facts.add(TOPIC, name, version);
    }
}

/// A line `P:` with the name, one `V:` with the version, a blank line behind each package.
fn apk(list: &str, facts: &mut Facts) {
    for paragraph in list.split("\n\n") {
        let field = |name: &str| paragraph.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(name), Some(version)) = (field("P:"), field("V:")) {
            facts.add(TOPIC, name, version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, Observed};

    const STATUS: &str = "\
Package: openssl
Status: install ok installed
Architecture: amd64
Description: Version: not this one
 Version: nor this
Version: 3.0.17-1

Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 2.36-9

Package: gone
Status: deinstall ok config-files
Version: 1.0
";

    fn packages(seen: &Observed) -> Vec<(String, Option<String>)> {
        let names = seen.keys("text").into_iter().map(|key| key[1].clone());
        names.map(|name| (name.clone(), seen.text("text", "value", &["package", &name]))).collect()
    }

    fn some(list: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
        list.iter().map(|(name, version)| ((*name).to_owned(), Some((*version).to_owned()))).collect()
    }

    #[test]
    fn dpkg_names_those_that_are_installed_and_what_changed_meanwhile() {
        let machine = Machine::new();
        machine.put(DPKG_STATUS, STATUS);
        let mut session = machine.start(&SOURCE);
        assert_eq!(packages(&session.tick(None)), some(&[("libc6:amd64", "2.36-9"), ("openssl", "3.0.17-1")]));
        session.machine.put(DPKG_STATUS, STATUS.replace("3.0.17-1", "3.0.18-1"));
        let seen = session.tick(5.0);
        assert_eq!(
            (seen.count("text"), seen.events()),
            (0, vec!["fact changed package.openssl: 3.0.17-1 -> 3.0.18-1".to_owned()])
        );
    }

    #[test]
    fn apk_and_pacman_too() {
        let machine = Machine::new();
        machine.put(APK[0], "C:Q1\nP:musl\nV:1.2.5-r0\nA:x86_64\n\nP:zlib\nV:1.3.1-r2\n\n");
        let mut session = machine.start(&SOURCE);
        assert_eq!(packages(&session.tick(None)), some(&[("musl", "1.2.5-r0"), ("zlib", "1.3.1-r2")]));
        let machine = Machine::new();
        machine
            .put("/var/lib/pacman/local/linux-lts-6.12.1-1/desc", "")
            .put("/var/lib/pacman/local/ALPM_DB_VERSION", "9");
        assert_eq!(packages(&machine.start(&SOURCE).tick(None)), some(&[("linux-lts", "6.12.1-1")]));
    }

    #[test]
    fn without_a_list_there_is_a_way_out() {
        let Err(error) = Machine::new().try_start(&SOURCE) else { panic!("it started") };
        assert!(error.to_string().ends_with("there is none of dpkg, apk or pacman"), "{error}");
        let machine = Machine::new();
        machine.put("/var/lib/rpm/rpmdb.sqlite", "");
        let Err(error) = machine.try_start(&SOURCE) else { panic!("it started") };
        assert!(error.to_string().contains("--fact packages='$(rpm -qa"), "{error}");
    }
}
