//! Checks and syncs between two homes of this machine, with real rsync and a stand-in for ssh. The command's own tests are with
//! the command.

#![allow(clippy::print_stderr, reason = "tests that cannot be made here say so")]

mod homes;

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::SystemTime,
};

use fenxi_lsync::{Check, Error, Item, Pair, Plan, Report, Scope, Side, Undo, Verdict};
use fs_err as fs;
use homes::Homes;

/// A name for the trash of the next sync.
fn name() -> String {
    static SYNCS: AtomicU32 = AtomicU32::new(0);
    format!("20261129-{:06}", SYNCS.fetch_add(1, Ordering::Relaxed))
}

impl Homes {
    fn pair(&self) -> Pair {
        Pair::read(&self.at("config", "fenxi/lsync.toml"), &self.at("laptop", ""), "lap").unwrap()
    }

    /// Lets a call of the remote shell fail, counted from now.
    fn fail(&self, call: u32, blocks: u32) {
        for (name, n) in [("calls", 0), ("fail", call), ("blocks", blocks)] {
            fs::write(self.dir.path().join(name), n.to_string()).unwrap();
        }
    }

    fn check(&self, from: Side, scope: Scope, with_hash: bool) -> Check {
        Check::new(&self.pair(), from, scope, with_hash).unwrap()
    }

    /// The result of a check of whole homes: whose change each path is.
    fn found(&self, from: Side) -> Vec<String> {
        let check = self.check(from, Scope::default(), false);
        let item = |item: &Item| format!("{:?} {}", item.verdict, String::from_utf8_lossy(&item.path)).to_lowercase();
        check.items.iter().map(item).collect()
    }

    fn sync_of(&self, check: &Check, whose: Option<Side>, trash: &str) -> Result<Report, Error> {
        self.pair().sync(check, &Plan::new(&check.items, check.from, whose), trash, &mut |_| ())
    }

    /// Gives the folder of the trash.
    fn sync(&self, from: Side, whose: Option<Side>) -> String {
        let trash = name();
        let report = self.sync_of(&self.check(from, Scope::default(), false), whose, &trash).unwrap();
        assert!(report.is_whole && report.messages.is_empty(), "{report:?}");
        format!(".lsync-trash/{trash}")
    }

    fn are_same(&self) {
        let mut diff = Command::new("diff");
        diff.args(["-r", "-x", ".lsync", "-x", ".lsync-trash", "laptop", "master"]).current_dir(self.dir.path());
        let output = diff.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn each_sides_work_reaches_the_other_and_conflicts_stay() {
    let Some(homes) = Homes::new() else { return };
    for name in ["here", "there", "both", "gone here", "gone there", "dir/x"] {
        homes.write("laptop", name, "common");
    }
    homes.sync(Side::Laptop, None);
    homes.are_same();
    for (side, name, gone) in [("laptop", "here", "gone here"), ("master", "there", "gone there")] {
        homes.write(side, name, side);
        homes.write(side, "both", side);
        homes.remove(side, gone);
    }
    homes.write("master", "new\nthere", "new");
    let here = ["sender gone here", "receiver new\nthere", "conflict both", "receiver gone there", "sender here"];
    assert_eq!(homes.found(Side::Laptop), [&here[..], &["receiver there"]].concat());
    let there = ["sender gone there", "conflict both", "receiver gone here", "receiver here", "sender new\nthere"];
    assert_eq!(homes.found(Side::Master), [&there[..], &["sender there"]].concat());
    homes.sync(Side::Laptop, Some(Side::Master));
    assert_eq!(homes.found(Side::Master), ["sender gone there", "conflict both", "sender new\nthere", "sender there"]);
    homes.sync(Side::Master, Some(Side::Laptop));
    assert_eq!(homes.found(Side::Laptop), ["conflict both"]);
    let trash = homes.sync(Side::Laptop, Some(Side::Laptop));
    homes.are_same();
    assert_eq!(homes.read("master", format!("{trash}/both")).as_deref(), Some("master"));
    assert_eq!(homes.read("laptop", "there").as_deref(), Some("master"));
}

#[test]
fn a_sync_that_was_interrupted_anywhere_is_understood_by_the_next_check() {
    // Calls: the check, states of the receiver, what is sent, what is deleted, the check after it, the list.
    for (call, blocks) in [(3, 0), (3, 80), (4, 0), (5, 0), (6, 0)] {
        let Some(homes) = Homes::new() else { return };
        homes.write("laptop", "a", "common");
        homes.write("laptop", "gone", "common");
        homes.sync(Side::Laptop, None);
        homes.write("laptop", "a", "laptop's");
        homes.write("laptop", "b", "new");
        homes.write("laptop", "big", &"0123456789abcdef".repeat(1 << 16));
        homes.remove("laptop", "gone");
        homes.fail(call, blocks);
        let check = homes.check(Side::Laptop, Scope::default(), false);
        let error = homes.sync_of(&check, None, &name());
        assert!(matches!(error, Err(Error::Failed(_))), "{call}: {error:?}");
        // Files that have arrived, or may have, change once more.
        homes.write("laptop", "a", "laptop's, later");
        homes.remove("laptop", "b");
        homes.write("laptop", "gone", "new again");
        let found = homes.found(Side::Laptop);
        assert!(found.iter().all(|item| item.starts_with("sender")), "{call}: {found:?}");
        let found = homes.found(Side::Master);
        assert!(found.iter().all(|item| item.starts_with("receiver")), "{call}: {found:?}");
        assert_eq!(homes.read("master", "gone").is_some(), call < 5, "{call}");
        homes.sync(Side::Laptop, None);
        homes.are_same();
        homes.write("master", "b", "there");
        assert_eq!(homes.found(Side::Laptop), ["receiver b"], "{call}");
    }
}

#[test]
fn undoing_restores_replaced_and_deleted_files_of_either_host() {
    let Some(homes) = Homes::new() else { return };
    for (name, content) in [("dir/changed", "old"), ("dir/sub/gone", "gone"), ("to dir", "file"), ("to file/in", "in")]
    {
        homes.write("laptop", name, content);
    }
    assert!(Undo::last(&homes.pair()).unwrap().is_none());
    homes.sync(Side::Laptop, None);
    for name in ["dir/sub", "to file", "to dir"] {
        homes.remove("laptop", name);
    }
    homes.write("laptop", "dir/changed", "new");
    homes.write("laptop", "to dir/in", "in");
    homes.write("laptop", "to file", "file");
    homes.sync(Side::Laptop, None);
    homes.are_same();
    let undo = |side: &str| {
        let undo = Undo::last(&homes.pair()).unwrap().unwrap();
        assert!(undo.list(&homes.pair()).unwrap().iter().any(|path| path == b"dir/changed"));
        let replaced = homes.read(side, "dir/changed");
        let trash = name();
        assert!(undo.apply(&homes.pair(), &trash).unwrap().is_whole);
        assert_eq!(undo.list(&homes.pair()).unwrap(), [b""; 0]);
        assert_eq!(homes.read(side, format!(".lsync-trash/{trash}/dir/changed")), replaced);
        homes.read(side, "dir/changed").unwrap()
    };
    assert_eq!(undo("master"), "old");
    for (name, content) in [("dir/sub/gone", "gone"), ("to dir", "file"), ("to file/in", "in")] {
        assert_eq!(homes.read("master", name).as_deref(), Some(content));
    }
    // Restored files are the master's work.
    assert!(homes.found(Side::Laptop).contains(&"receiver dir/changed".to_owned()));
    homes.sync(Side::Master, None);
    homes.are_same();
    assert_eq!(undo("laptop"), "new");
}

#[test]
fn a_home_of_before_replaces_and_deletes_nothing() {
    let Some(homes) = Homes::new() else { return };
    let list = homes.at("laptop", ".lsync/lap+paedata.list");
    for name in ["a", "b", "gone"] {
        homes.write("laptop", name, "first");
    }
    homes.sync(Side::Laptop, None);
    let old = fs::read(&list).unwrap();
    homes.write("laptop", "a", "second");
    homes.write("laptop", "c", "second");
    homes.remove("laptop", "gone");
    homes.sync(Side::Laptop, None);
    // The laptop's home is restored from a backup.
    fs::write(&list, old).unwrap();
    homes.write("laptop", "a", "first");
    homes.remove("laptop", "c");
    homes.write("laptop", "gone", "first");
    assert_eq!(homes.found(Side::Laptop), ["receiver c", "conflict a", "sender gone"]);
    assert_eq!(homes.found(Side::Master), ["receiver gone", "conflict a", "sender c"]);
    let check = homes.check(Side::Laptop, Scope::default(), false);
    assert!(check.report.messages[0].contains("paedata has another list"), "{:?}", check.report.messages);
    // One without anything.
    homes.remove("laptop", "");
    fs::create_dir_all(homes.at("laptop", ".lsync")).unwrap();
    assert_eq!(homes.found(Side::Laptop), ["receiver a", "receiver b", "receiver c"]);
    homes.sync(Side::Master, None);
    homes.are_same();
}

#[test]
fn directories_rules_checksums_and_old_trash_count_as_they_should() {
    let Some(homes) = Homes::new() else { return };
    homes.write("laptop", ".rsync-include", "- *.o\n");
    for name in ["src/x.c", "src/x.o", "a [b]*/y\n.o", "a b/x", "c\\d/e*/f", "other"] {
        homes.write("laptop", name, "aaaa");
    }
    let folders = ["laptop", "master"].map(|side| homes.at(side, ".lsync-trash"));
    for folder in &folders {
        fs::create_dir_all(folder.join("20200101")).unwrap();
        fs::create_dir(folder.join("20200102")).unwrap();
        set_time(&folder.join("20200101"), SystemTime::UNIX_EPOCH);
    }
    homes.sync(Side::Laptop, None);
    for folder in &folders {
        assert!(!folder.join("20200101").exists() && folder.join("20200102").exists(), "{}", folder.display());
    }
    assert_eq!((homes.read("master", "src/x.c").as_deref(), homes.read("master", "src/x.o")), (Some("aaaa"), None));
    let scope = Scope::new(&homes.pair(), &homes.at("laptop", "a [b]*")).unwrap();
    homes.sync_of(&homes.check(Side::Laptop, scope, true), None, &name()).unwrap();
    assert_eq!(homes.read("master", "a [b]*/y\n.o").as_deref(), Some("aaaa"));
    homes.sync_of(&homes.check(Side::Laptop, Scope::default(), true), None, &name()).unwrap();
    // Contents change, size and time do not.
    for (side, name) in [("laptop", "src/x.c"), ("master", "other")] {
        let path = homes.at(side, name);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "bbbb").unwrap();
        set_time(&path, time);
    }
    assert_eq!(homes.found(Side::Laptop), [""; 0]);
    let check = homes.check(Side::Laptop, Scope::default(), true);
    let verdicts: Vec<_> = check.items.iter().map(|item| item.verdict).collect();
    assert_eq!(verdicts, [Verdict::Receiver, Verdict::Sender], "{:?}", check.items);
}

#[test]
fn a_directory_is_below_the_home_wherever_links_lead() {
    let Some(homes) = Homes::new() else { return };
    homes.write("laptop", "tools/sh/x", "");
    fs_err::os::unix::fs::symlink(homes.at("master", ""), homes.at("laptop", "out")).unwrap();
    let shown = |path: &str| Scope::new(&homes.pair(), &homes.at("laptop", path)).map(|scope| scope.shown());
    assert_eq!((shown("tools/../tools/sh/").unwrap(), shown(".").unwrap()), ("~/tools/sh".into(), "~".into()));
    for outside in ["/var/tmp", "../master", "out", ".."] {
        assert!(shown(outside).unwrap_err().to_string().contains("as it is not under $HOME"), "{outside}");
    }
    for wrong in ["tools/sh/x", "missing", ".lsync"] {
        assert!(matches!(shown(wrong), Err(Error::Usage(_))), "{wrong}");
    }
}
