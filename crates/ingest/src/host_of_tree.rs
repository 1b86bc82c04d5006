//! The host of a tree of files that a tool collected, such as a sosreport. Runs in the caller's thread, before the import.
//!
//! A sosreport, a copy of `/proc` or a folder of one's own has a file `hostname`; pbench has folders that are called by the
//! host, below the tools that ran there. A file's own name or content takes precedence.

use std::io::Read;

use crate::source::{Content, Source};

/// Files with the name of the host, the surest first.
const TELLING: &[&str] = &[
    "proc/sys/kernel/hostname",
    "sos_commands/host/hostname",
    "sos_commands/general/hostname",
    "etc/hostname",
    "hostname",
];
/// The longest name of a host, and its line end.
const LONGEST: u64 = 256;

/// Sets the host of inputs of trees, where their names have none.
pub(crate) fn tell_hosts(sources: &mut [Source]) {
    if sources.len() < 2 {
        return;
    }
    let roots = roots(sources);
    for source in sources.iter_mut().filter(|source| source.host.is_none()) {
        let nearest = roots.iter().filter(|(root, _)| source.name.starts_with(root.as_str()));
        let nearest = nearest.max_by_key(|(root, _)| root.len()).map(|(_, host)| host.clone());
        source.host = of_folder(&source.name).map(str::to_owned).or(nearest);
    }
}

/// Folders, as names of inputs in them begin, and the host of each.
fn roots(sources: &[Source]) -> Vec<(String, String)> {
    let mut roots: Vec<(String, String)> = Vec::new();
    for telling in TELLING {
        for source in sources {
            let Some(root) = source.name.strip_suffix(telling) else { continue };
            // `sos_commands/host/` is not a tree itself.
            let is_within = TELLING
                .iter()
                .any(|other| other != telling && source.name.ends_with(other) && other.ends_with(telling));
            let is_root = (root.is_empty() || root.ends_with('/')) && !is_within;
            if is_root
                && roots.iter().all(|(known, _)| known != root)
                && let Some(host) = name_in(&source.content)
            {
                roots.push((root.to_owned(), host));
            }
        }
    }
    roots
}

/// The one word that the file is, if it can be the name of a host.
fn name_in(content: &Content) -> Option<String> {
    // Data of standard input would be gone then.
    if matches!(content, Content::Stdin(_)) {
        return None;
    }
    let mut text = String::new();
    content.open().ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    is_name(text.trim()).then(|| text.trim().to_owned())
}

/// Whether it can be the name of a host that others do not have, too.
fn is_name(text: &str) -> bool {
    let made_of = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    text.bytes().all(made_of) && text.bytes().any(|byte| byte.is_ascii_alphabetic()) && !text.starts_with("localhost")
}

/// The host in a path of pbench: `…/tools-default/db1/mpstat/mpstat-stdout.txt`, `…/sysinfo/beg/remote:db1/lscpu.txt`.
fn of_folder(name: &str) -> Option<&str> {
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        let is_above = match part {
            "sysinfo" => parts.next_if(|next| matches!(*next, "beg" | "end")).is_some(),
            part => part.starts_with("tools-"),
        };
        if is_above {
            let folder = parts.next().filter(|_| parts.peek().is_some())?;
            // A label may precede it.
            return Some(folder.rsplit(':').next().unwrap_or(folder)).filter(|host| is_name(host));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, content: &str) -> Source {
        let content = Content::Held(content.as_bytes().into());
        Source { host: crate::source::host_in(name), modified: None, content, name: name.to_owned() }
    }

    #[test]
    fn files_of_a_tree_are_of_its_host() {
        let mut sources = [
            source("a/hostname", "db1\n"),
            source("a/proc/meminfo", ""),
            source("a/sos_commands/host/hostname", "db1.example.com\n"),
            source("a/sos_commands/memory/free", ""),
            source("b/etc/hostname", "db2\n"),
            source("b/vmstat.txt", ""),
            source("b/mpstat.log.db3", ""),
            source("c/hostname", "localhost\n"),
            source("c/vmstat.txt", ""),
            source("hostnames", "x\n"),
        ];
        tell_hosts(&mut sources);
        let reported: Vec<_> = sources.iter().map(|source| source.host.as_deref().unwrap_or("-")).collect();
        let first = "db1.example.com";
        assert_eq!(reported, [first, first, first, first, "db2", "db2", "db3", "-", "-", "-"]);
        let mut alone = [source("hostname", "db1\n")];
        tell_hosts(&mut alone);
        assert_eq!(alone[0].host, None);
    }

    #[test]
    fn folders_of_pbench_are_called_by_the_host() {
        for (name, host) in [
            ("1-x/sample1/tools-default/db1/mpstat/mpstat-stdout.txt", Some("db1")),
            ("sysinfo/beg/remote:db1.example.com/lscpu.txt", Some("db1.example.com")),
            ("sysinfo/db1/lscpu.txt", None),
            ("tools-default/db1", None),
            ("tools/db1/x.txt", None),
        ] {
            assert_eq!(of_folder(name), host, "{name}");
        }
    }
}
