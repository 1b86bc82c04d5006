//! Lists of installed packages: `dpkg -l` and `rpm -qa`, as facts under the topic that a recording has them under.

use std::collections::BTreeMap;

use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for dpkg -l, rpm -qa.
pub static FORMAT: Format = Format {
    name: "package-list",
    summary: "dpkg -l, rpm -qa: installed packages, as facts",
    family: Family::Linux,
    tables: &[&fenxi_model::catalog::text::TABLE],
    example: "\
Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
||/ Name     Version      Architecture Description
+++-========-============-============-=================
ii  openssl  3.0.17-1     amd64        Secure Sockets Layer
",
    sniff,
    read,
};

/// Fewer lines that look like packages could be anything.
const FEWEST: usize = 20;
/// Machines that packages are made for.
const MACHINES: [&str; 9] = ["x86_64", "noarch", "i686", "aarch64", "ppc64le", "s390x", "armv7hl", "riscv64", "(none)"];

fn sniff(head: &Head<'_>) -> Sure {
    if head.first().starts_with("Desired=Unknown/Install/Remove/Purge/Hold") {
        return Sure::Certain;
    }
    let (lines, packages) = head
        .lines()
        .fold((0, 0), |(lines, packages), line| (lines + 1, packages + usize::from(of_rpm(line).is_some())));
    // The last line may be cut.
    Sure::Likely.when(packages >= FEWEST && packages + 1 >= lines)
}

/// The name, and version, release and machine of `bash-5.2.26-3.fc40.x86_64`.
fn of_rpm(line: &str) -> Option<(&str, &str)> {
    let (rest, machine) = line.rsplit_once('.')?;
    let (rest, _release) = rest.rsplit_once('-')?;
    let (name, _version) = rest.rsplit_once('-')?;
    let rest = line.get(name.len() + 1..)?;
    let is_name = !name.is_empty() && !line.contains(|c: char| c.is_whitespace() || c == '/');
    let is_version = rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    (is_name && is_version && MACHINES.contains(&machine)).then_some((name, rest))
}

/// The name and version of a line of `dpkg -l`; None of a package that is not installed.
fn of_dpkg(line: &str) -> Option<Option<(&str, &str)>> {
    let mut words = line.split_whitespace();
    let (state, name, version) = (words.next()?, words.next()?, words.next()?);
    let is_state = (2..=3).contains(&state.len()) && state.starts_with(['u', 'i', 'r', 'p', 'h']);
    is_state.then(|| (state.as_bytes().get(1) == Some(&b'i')).then_some((name, version)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let is_dpkg = input.head().starts_with("Desired=");
    // Of one name there may be several, as of kernels.
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        let is_heading =
            is_dpkg && ["Desired=", "| Status=", "|/ Err", "||/", "+++-"].iter().any(|b| text.starts_with(b));
        let package = if is_dpkg { of_dpkg(text) } else { of_rpm(text.trim()).map(Some) };
        match package {
            _ if is_heading || text.trim().is_empty() => {}
            Some(Some((name, version))) => {
                let known = found.entry(name.to_owned()).or_default();
                if !known.is_empty() {
                    known.push_str(", ");
                }
                known.push_str(version);
            }
            Some(None) => {}
            None => out.unknown(line, text, "no package"),
        }
    }
    for (name, versions) in &found {
        out.fact("package", name, versions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn of_dpkg_those_that_are_installed() {
        let list = "ii  libc6:amd64 2.36-9 amd64 GNU C Library\nrc  gone 1.0 amd64 is gone\nhi  held 2.0 all kept back\nwhat\n";
        let text = FORMAT.example.to_owned() + list;
        let read = read(&FORMAT, text.as_bytes());
        for fact in ["openssl\t3.0.17-1", "libc6:amd64\t2.36-9", "held\t2.0"] {
            assert!(read.text.contains(fact), "{fact} is not in {}", read.text);
        }
        assert!(!read.text.contains("gone") && read.text.contains("no package: what"), "{}", read.text);
    }

    #[test]
    fn of_rpm_all_with_several_versions() {
        assert_eq!(of_rpm("gpg-pubkey-a15b79cc-63d04c2c.(none)"), Some(("gpg-pubkey", "a15b79cc-63d04c2c.(none)")));
        assert_eq!(
            of_rpm("java-17-openjdk-headless-17.0.9.0.9-3.fc39.x86_64"),
            Some(("java-17-openjdk-headless", "17.0.9.0.9-3.fc39.x86_64"))
        );
        for line in ["db-2026-11-21.log", "https://example.org/a-1-2.x86_64", "web-1.noarch", "a b-1-2.noarch"] {
            assert_eq!(of_rpm(line), None, "{line}");
        }
        let mut list: String = (0..19).map(|i| format!("lib{i}-1.0-2.fc40.x86_64\n")).collect();
        assert_eq!(sniff(&Head { text: &list }), Sure::No);
        list += "kernel-6.8.1-1.fc40.x86_64\nkernel-6.8.2-1.fc40.x86_64\n";
        assert_eq!(sniff(&Head { text: &list }), Sure::Likely);
        assert_eq!(sniff(&Head { text: &(list.clone() + "one\ntwo\n") }), Sure::No);
        let read = read(&FORMAT, list.as_bytes());
        assert!(read.text.contains("kernel\t6.8.1-1.fc40.x86_64, 6.8.2-1.fc40.x86_64"), "{}", read.text);
    }
}
