//! Ordinary texts, of which no importer may think that they are its own: configuration, sources, documents, logs and listings
//! of the machine that runs the tests, and some that not every machine has.

use std::{path::Path, process::Command};

use super::{Head, Input, Sure, detect_all, own};

/// Where ordinary texts are, which do not change meanwhile.
const FOLDERS: &[&str] = &["etc", "usr/share", "usr/include", "usr/lib/python3", "var/lib/dpkg/info"];
/// Files of one folder that are looked at, so that there are many kinds.
const OF_A_FOLDER: usize = 25;
/// Files below one of [`FOLDERS`].
const OF_A_TREE: usize = 2_500;
/// Larger ones are not looked at.
const LONGEST: u64 = 2 << 20;
/// With fewer the test would say nothing.
const FEWEST: usize = 500;

/// Formats that claim a text as measurements. One that gives facts or events only keeps words as words. A wide table of
/// numbers with a header row is one, wherever it is: machines have examples of them.
fn claimed(bytes: &[u8]) -> Vec<(Sure, &'static str)> {
    let input = Input::new(bytes);
    let mut claims = detect_all(&Head { text: &input.head() });
    claims.retain(|(_, format)| {
        format.tables().is_empty() || format.tables().iter().any(|table| !["text", "event"].contains(&table.name))
    });
    let narrow = Head { text: &input.head() }.first().matches([',', ';', '\t', '|']).count() < 2;
    let shipped = claims
        .into_iter()
        .map(|(sure, format)| (sure, format.name))
        .filter(|(sure, _)| *sure > Sure::Perhaps || narrow);
    // Formats of stores say by patterns what is theirs.
    let own = own::tests::claims(&Head { text: &input.head() });
    shipped.chain(own.into_iter().map(|name| (Sure::Certain, name))).collect()
}

/// How many files are looked at.
struct Bounds {
    /// Of one folder.
    of_a_folder: usize,
    /// Yet.
    left: usize,
}

/// Visits texts below a folder.
fn walk(folder: &Path, bounds: &mut Bounds, visit: &mut dyn FnMut(&Path, &[u8])) {
    let Ok(entries) = fs_err::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs_err::DirEntry::file_name);
    let mut here = 0;
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(&entry.path(), bounds, visit);
        } else if kind.is_file() && here < bounds.of_a_folder && bounds.left > 0 {
            let Ok(bytes) = entry
                .metadata()
                .and_then(|m| if m.len() > LONGEST { Ok(Vec::new()) } else { fs_err::read(entry.path()) })
            else {
                continue;
            };
            if bytes.is_empty() || bytes.iter().take(4096).any(|b| *b == 0) {
                continue;
            }
            here += 1;
            bounds.left -= 1;
            visit(&entry.path(), &bytes);
        }
    }
}

/// Files that were looked at, and those that somebody claims.
#[derive(Default)]
struct Survey {
    looked: usize,
    wrong: Vec<String>,
}

impl Survey {
    fn look(&mut self, path: &Path, bytes: &[u8]) {
        self.looked += 1;
        let mut claims = claimed(bytes);
        // A document that quotes an output is read as that: this project's show what its tools print.
        claims.retain(|(_, name)| *name != "quoted" || !path.starts_with("../../docs"));
        if !claims.is_empty() {
            self.wrong.push(format!("{}: {claims:?}", path.display()));
        }
    }

    /// Looks at the files below a folder.
    fn walk(&mut self, folder: &Path, mut bounds: Bounds) {
        walk(folder, &mut bounds, &mut |path, bytes| {
            // Fixtures are outputs of tools.
            if path.to_string_lossy().contains("/fixtures/") {
                self.looked += 1;
            } else {
                self.look(path, bytes);
            }
        });
    }

    /// Fails when a file is claimed, or there are too few.
    fn end(&self, fewest: usize) {
        let Survey { looked, wrong } = self;
        assert!(wrong.is_empty(), "{} of {looked} files are claimed:\n{}", wrong.len(), wrong.join("\n"));
        assert!(*looked >= fewest, "only {looked} files were found");
    }
}

/// Fails when a file in one of `folders` below `root` is claimed, or there are too few.
fn are_nobodys(root: &Path, folders: &[&str]) {
    let mut survey = Survey::default();
    for folder in folders {
        survey.walk(&root.join(folder), Bounds { of_a_folder: OF_A_FOLDER, left: OF_A_TREE });
    }
    survey.end(FEWEST);
}

/// `FENXI_ORDINARY` names other folders than a machine's usual ones, separated by colons, to look at all files there.
#[test]
fn files_of_this_machine_are_nobodys() {
    let Some(named) = std::env::var_os("FENXI_ORDINARY") else {
        return are_nobodys(Path::new("/"), FOLDERS);
    };
    let mut survey = Survey::default();
    for folder in std::env::split_paths(&named) {
        survey.walk(&folder, Bounds { of_a_folder: usize::MAX, left: usize::MAX });
    }
    survey.end(0);
}

#[test]
fn sources_of_this_project_are_nobodys() {
    let root = Path::new("../..");
    let folders =
        ["crates", "docs", "questions", "findings", "scripts", "bench", "fuzz", "xtask", "web/src", "web/test"];
    are_nobodys(root, &folders);
}

#[test]
fn listings_are_nobodys() {
    let commands: &[&[&str]] = &[
        &["date"],
        &["uname", "-a"],
        &["du", "-s", "/etc"],
        &["ls", "-l", "/usr"],
        &["ls", "-lR", "/etc"],
        &["mount"],
        &["id"],
        &["locale"],
        &["getconf", "-a"],
        &["dpkg", "-l"],
        &["ip", "addr"],
        &["lspci"],
        &["dmesg"],
        &["journalctl", "-n", "200"],
        &["find", "/etc", "-maxdepth", "2"],
    ];
    let mut looked = 0;
    for command in commands {
        let Ok(output) = Command::new(command[0]).args(&command[1..]).output() else { continue };
        if output.stdout.is_empty() {
            continue;
        }
        looked += 1;
        assert_eq!(claimed(&output.stdout), [], "{command:?}");
    }
    assert!(looked >= 8, "only {looked} commands were found");
}

/// Texts of kinds that few machines have: tickets, mails and chats that quote an output, tables of anything.
#[test]
fn kept_texts_are_nobodys() {
    let mut survey = Survey::default();
    for entry in fs_err::read_dir(Path::new("fixtures/ordinary")).unwrap() {
        let path = entry.unwrap().path();
        survey.look(&path, &fs_err::read(&path).unwrap());
    }
    survey.end(100);
}

#[test]
fn logs_and_reports_are_nobodys() {
    let texts = [
        "Nov 22 10:00:01 db1 CRON[4711]: (root) CMD (run-parts /etc/cron.hourly)\nNov 22 10:00:02 db1 sshd[88]: Accepted publickey for bob\n",
        "2026-11-22T10:00:01.123456Z 0 [System] [MY-010116] [Server] mysqld starting as process 1\n2026-11-22 10:00:02 0 [Note] InnoDB: Buffer pool(s) load completed\n",
        "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n        inet 10.0.0.5  netmask 255.255.255.0  broadcast 10.0.0.255\n        ether 02:42:0a:00:00:05  txqueuelen 0  (Ethernet)\n        RX packets 123  bytes 4567 (4.5 KB)\n",
        "10:00:01.123456 IP 10.0.0.5.22 > 10.0.0.6.54321: Flags [P.], seq 1:37, ack 1, win 501, length 36\n\t0x0000:  4500 0058 1c46 4000 4006 b1a4 0a00 0005\n\t0x0010:  0a00 0006 0016 d431 0000 0001 0000 0001\n",
        "Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: QEMU\n\tProduct Name: Standard PC (i440FX + PIIX, 1996)\n\tUUID: 01234567-89ab-cdef-0123-456789abcdef\n",
        "net/AuthenticatorTest.java containers: 4, skipped: 0; tests: 3, skipped: 0, aborted: 0\nTest results: passed: 5973; failed: 9; error: 4\n",
        "set(SHARED \"\")            # -pic\nset(LINK \"\")       # -shared\nset(A \"\")  # a\nset(B \"\")  # b\nset(C \"\")  # c\nset(D \"\")  # d\n",
        "all: build\n\nbuild:\n\tcargo build\n\t@echo done\n\nclean:\n\trm -rf target\n",
        "00:00.0 Host bridge: Intel Corporation 440FX - 82441FX PMC [Natoma] (rev 02)\n00:01.0 ISA bridge: Intel Corporation 82371SB PIIX3 ISA\n",
        "alias ll='ls -l'\nexport PATH=$HOME/bin:$PATH\nif [ -f ~/.bash_aliases ]; then\n\t. ~/.bash_aliases\nfi\n",
        "0x401000 <main>:\n\t55\tpush %rbp\n\tadd 1\n\tdeadbeef here\n\tcafe babe\n",
    ];
    for text in texts {
        assert_eq!(claimed(text.as_bytes()), [], "{text}");
    }
}
