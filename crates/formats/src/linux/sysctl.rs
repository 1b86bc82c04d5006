//! `sysctl -a`: settings of the kernel, as facts under the topic that a recording has them under, so that both compare.
//!
//! Counts of the moment, random numbers and settings of single interfaces are among them; they are no facts of the
//! system, and that is noted.

use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for sysctl -a.
pub static FORMAT: Format = Format {
    name: "sysctl",
    summary: "sysctl -a: kernel parameters, as facts",
    family: Family::Linux,
    tables: &[&fenxi_model::catalog::text::TABLE],
    example: "\
kernel.osrelease = 6.1.0-25-amd64
kernel.ostype = Linux
kernel.panic = 0
vm.swappiness = 60
",
    sniff,
    read,
};

/// Settings that begin so differ from one moment, machine or boot to the next without having been set.
const NO_SETTINGS: [&str; 16] = [
    "fs.aio-nr",
    "fs.binfmt_misc.",
    "fs.dentry-state",
    "fs.file-nr",
    "fs.inode-",
    "fs.quota.",
    "kernel.hostname",
    "kernel.keys.",
    "kernel.ns_last_pid",
    "kernel.osrelease",
    "kernel.ostype",
    "kernel.pty.nr",
    "kernel.random.",
    "kernel.version",
    "net.ipv4.tcp_fastopen_key",
    "net.netfilter.nf_conntrack_count",
];

/// All of it names settings of Linux; other systems have `kern.`, and one's own list has no `kernel.ostype`, as it cannot be set.
fn sniff(head: &Head<'_>) -> Sure {
    let mut lines = head.lines();
    // The last line may be cut, and lists may be longer than is looked at.
    let settings = lines.by_ref().filter(|line| setting(line).is_some()).count();
    let all = head.lines().count();
    let is_whole = head.any(|line| matches!(setting(line), Some(("kernel.ostype", "Linux"))));
    let begins =
        head.first().starts_with("abi.") || head.first().starts_with("debug.") || head.first().starts_with("dev.");
    Sure::Certain.when(settings + 1 >= all && settings >= 3 && (is_whole || (begins && settings >= 200)))
}

/// `vm.swappiness = 60`: the name and the value of a setting.
fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(" =")?;
    let is_name =
        name.contains('.') && !name.contains(char::is_whitespace) && name.starts_with(|c: char| c.is_ascii_lowercase());
    is_name.then_some((name, value.trim()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut left_out = 0u64;
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        match setting(text) {
            Some((name, value)) if is_fact(name) => {
                if !value.is_empty() {
                    out.fact("sysctl", name, &value.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            Some(_) => left_out += 1,
            // `sysctl: reading key "…"`, `sysctl: permission denied on key '…'`
            None if text.trim().is_empty() || text.starts_with("sysctl: ") => {}
            None => out.unknown(line, text, "no setting"),
        }
    }
    if left_out > 0 {
        out.assume(&format!(
            "{left_out} lines are counts, names or settings of single interfaces, and no facts of the system"
        ));
    }
}

/// Whether it is a setting of the whole system.
fn is_fact(name: &str) -> bool {
    let single = ["net.ipv4.conf.", "net.ipv4.neigh.", "net.ipv6.conf.", "net.ipv6.neigh.", "net.mpls.conf."]
        .iter()
        .find_map(|group| name.strip_prefix(group))
        .is_some_and(|rest| !rest.starts_with("all.") && !rest.starts_with("default."));
    !single && !NO_SETTINGS.iter().any(|none| name.starts_with(none))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn settings_are_facts_and_counts_are_not() {
        let text = "fs.file-nr = 992\t0\t100\nkernel.ostype = Linux\nkernel.sem = 32000\t1024000000\t500\t32000\n\
            net.ipv4.conf.all.forwarding = 0\nnet.ipv4.conf.eth0.forwarding = 1\nkernel.core_pattern = |/bin/x %p = 1\n\
            sysctl: permission denied on key 'fs.protected_fifos'\nhello\n";
        let read = read(&FORMAT, text.as_bytes());
        for fact in [
            "kernel.sem\t32000 1024000000 500 32000",
            "net.ipv4.conf.all.forwarding\t0",
            "kernel.core_pattern\t|/bin/x %p = 1",
        ] {
            assert!(read.text.contains(fact), "{fact} is not in {}", read.text);
        }
        assert!(!read.text.contains("eth0") && !read.text.contains("file-nr"), "{}", read.text);
        assert_eq!((read.tally.notes, read.tally.assumptions), (1, 1));
    }

    #[test]
    fn a_list_of_somebodys_own_is_none() {
        let sniffed = |text: &str| sniff(&Head { text });
        assert_eq!(sniffed("# tuning\nvm.swappiness = 1\nvm.dirty_ratio = 5\nkernel.pid_max = 4\n"), Sure::No);
        assert_eq!(sniffed("kernel.ostype = Linux\nkernel.panic = 0\nvm.swappiness = 60\n"), Sure::Certain);
        assert_eq!(sniffed("server.port = 80\nserver.name = x\napp.os = Linux\n"), Sure::No);
    }
}
