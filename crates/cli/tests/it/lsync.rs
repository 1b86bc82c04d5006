//! `fenxi lsync` between two homes of this machine, with real rsync and a stand-in for ssh: what is asked, printed and refused. What
//! becomes of files is tested with the engine.

#[path = "../../../lsync/tests/it/homes.rs"]
mod homes;

use std::{
    ffi::OsStr,
    io::Write,
    os::unix::ffi::OsStrExt,
    process::{Command, Output, Stdio},
};

use fs_err as fs;
use homes::Homes;
use serde_json::{Value, json};

use crate::support::text;

impl Homes {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fenxi"));
        command.arg("lsync").args(args).env("NO_COLOR", "1").env("FENXI_STORE", self.dir.path().join("store"));
        command.env("HOME", self.at("laptop", "")).env("XDG_CONFIG_HOME", self.dir.path().join("config"));
        command.current_dir(self.at("laptop", ""));
        command
    }

    /// Runs it with an answer to its question.
    fn answered(&self, args: &[&str], answer: &str) -> Output {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may end before it asks.
        let _ = child.stdin.take().unwrap().write_all(answer.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Its output; it must end with `code`.
    fn run(&self, code: i32, args: &[&str], answer: &str) -> String {
        let output = self.answered(args, answer);
        let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "lsync {args:?}: {all}");
        all
    }

    fn json(&self, code: i32, args: &[&str]) -> Value {
        let output = self.answered(&[args, &["--json"]].concat(), "");
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn a_day_of_syncs_is_printed_as_the_page_has_it() {
    let Some(homes) = Homes::new() else { return };
    for side in ["laptop", "master"] {
        homes.write(side, "tools/sh/Lsync/tmpfile", "temporary");
        homes.write(side, "man/cat1/nroff.1", "old page");
    }
    let first = homes.run(0, &["L"], "");
    assert!(first.contains("-- Lsync: SYNCING everything under ~ from lap to paedata\n"), "{first}");
    homes.remove("laptop", "tools/sh/Lsync/tmpfile");
    homes.write("laptop", "man/cat1/rsync.1.gz", "page");
    homes.write("laptop", "tools/sh/Lsync/README", "read me");
    let list = homes.run(0, &["l"], "");
    let lines: Vec<&str> = list.lines().filter(|line| !line.ends_with('/')).collect();
    assert_eq!(
        lines[..4],
        [
            "-- Lsync: listing what to sync under ~ from lap to paedata",
            "deleting tools/sh/Lsync/tmpfile",
            "man/cat1/rsync.1.gz",
            "tools/sh/Lsync/README",
        ]
    );
    assert!(lines[4].starts_with("sent ") && lines[5].starts_with("total size is "), "{list}");
    let ends = "-- To delete: 1 file (9.00 B); to send: 2 files (11.0 B)\n-- Use \"Lsync L\" to perform sync\n";
    assert!(list.ends_with(ends), "{list}");
    // One of three is more than 5 %.
    let many = homes.run(1, &["L"], "y\n");
    assert!(many.contains("Enter 1, the number of files to delete, to confirm:"), "{many}");
    let done = homes.run(0, &["L"], "1\n");
    assert!(done.contains("\ndeleting tools/sh/Lsync/tmpfile\n") && done.contains("\"Lsync undo\""), "{done}");
    assert_eq!(homes.read("master", "tools/sh/Lsync/README").as_deref(), Some("read me"));
    let undone = homes.run(0, &["undo"], "y\n");
    assert!(undone.contains("on paedata\ntools/sh/Lsync/tmpfile\n"), "{undone}");
    assert_eq!(homes.read("master", "tools/sh/Lsync/tmpfile").as_deref(), Some("temporary"));
    // The other way round, and only a directory.
    homes.write("master", "man/x", "not in it");
    let below = homes.run(0, &["m", "tools/"], "");
    assert!(below.contains("under ~/tools from paedata to lap\n") && below.contains("\nsh/Lsync/tmpfile\n"), "{below}");
    homes.run(0, &["M", "tools"], "y\n");
    assert_eq!(homes.read("laptop", "tools/sh/Lsync/tmpfile").as_deref(), Some("temporary"));
    assert_eq!(homes.read("laptop", "man/x"), None);
}

#[test]
fn an_answer_other_than_y_syncs_nothing() {
    let Some(homes) = Homes::new() else { return };
    homes.write("laptop", "a", "a");
    for answer in ["", "\n", "n\n", "yes\n", "Y\n", "1\n"] {
        let output = homes.run(1, &["L"], answer);
        assert!(output.contains("Enter 'y' to confirm:") && output.contains("nothing was synced"), "{output}");
        assert_eq!(homes.read("master", "a"), None);
    }
    homes.run(0, &["L"], " y \n");
    assert_eq!(homes.read("master", "a").as_deref(), Some("a"));
}

#[test]
fn newer_work_of_the_receiver_is_refused_unless_one_side_insists() {
    let Some(homes) = Homes::new() else { return };
    homes.write("laptop", "a", "laptop");
    homes.write("master", "a", "master's");
    homes.write("master", "b", "only there");
    let refused = homes.run(1, &["L"], "y\n");
    let why = "Lsync: refused: 2 paths are newer on paedata\n";
    assert!(refused.contains(why) && refused.contains("\"Lsync L --theirs\" leaves"), "{refused}");
    homes.run(0, &["M", "--theirs"], "y\n");
    for side in ["laptop", "master"] {
        homes.write(side, "a", side);
    }
    homes.remove("laptop", "b");
    homes.write("master", "b", "changed there");
    homes.write("laptop", "c", "here");
    let refused = homes.run(1, &["L"], "y\n");
    for words in ["conflict: both changed                      a\n", "conflict: sender deleted, receiver changed  b\n"]
    {
        assert!(refused.contains(words), "{refused}");
    }
    let check = homes.json(1, &["l"]);
    let item =
        |item: &Value| ["action", "changed_by", "path"].map(|key| item[key].as_str().unwrap().to_owned()).join(" ");
    let items: Vec<_> = check["items"].as_array().unwrap().iter().map(item).collect();
    assert_eq!(items, ["send sender c", "leave conflict b", "leave conflict a"]);
    assert_eq!(check["send"], json!({"files": 1, "bytes": 4}));
    homes.run(0, &["L", "--theirs"], "y\n");
    assert_eq!(homes.read("master", "a").as_deref(), Some("master"));
    homes.run(0, &["L", "--mine"], "1\n");
    assert_eq!((homes.read("master", "a").as_deref(), homes.read("master", "b")), (Some("laptop"), None));
    assert_eq!(homes.json(0, &["m"])["items"], json!([]));
}

#[test]
fn names_of_any_bytes_are_synced_deleted_and_restored() {
    let Some(homes) = Homes::new() else { return };
    let names = [
        &b"two\nlines"[..],
        b" blanks  around ",
        b"\xff\xfe",
        b"back\\#012slash",
        b"# no comment",
        b"; nor this",
        b"-n",
        b"tab\tbell\x07",
        b"star*[x]?",
        b"quote'\"$(id)`id`",
        b"dir \n\xff/in\r",
    ]
    .map(OsStr::from_bytes);
    for (n, name) in names.iter().enumerate() {
        homes.write("laptop", name, &format!("content {n}"));
    }
    homes.run(0, &["L"], "y\n");
    for (n, name) in names.iter().enumerate() {
        assert_eq!(homes.read("master", name), Some(format!("content {n}")), "{name:?}");
        homes.remove("laptop", name);
    }
    homes.remove("laptop", OsStr::from_bytes(b"dir \n\xff"));
    let check = homes.json(0, &["l"]);
    assert_eq!(check["delete"]["files"], names.len());
    assert!(check["items"].as_array().unwrap().iter().any(|item| item["path_hex"] == "fffe"), "{check}");
    let number = format!("{}\n", names.len());
    for (args, answer) in [(["l"], ""), (["L"], &number), (["undo"], "y\n")] {
        let printed = homes.run(0, &args, answer);
        assert!(printed.contains("two?lines") && printed.chars().all(|c| c == '\n' || !c.is_control()), "{printed}");
    }
    for (n, name) in names.iter().enumerate() {
        assert_eq!(homes.read("master", name), Some(format!("content {n}")), "{name:?}");
    }
}

#[test]
fn the_editor_gets_the_includes() {
    let Some(homes) = Homes::new() else { return };
    let editor = homes.program("editor", "echo \"- *.o\" >> \"$2\"");
    let edited = homes.command(&["e"]).env("VISUAL", format!("{editor} -w")).output().unwrap();
    assert!(edited.status.success(), "{}", text(&edited.stderr));
    assert_eq!(homes.read("laptop", ".rsync-include").as_deref(), Some("- *.o\n"));
    for name in ["src/x.c", "src/x.o"] {
        homes.write("laptop", name, name);
    }
    let list = homes.run(0, &["l"], "");
    assert!(list.contains("\nsrc/x.c\n") && !list.contains("x.o"), "{list}");
    assert!(homes.run(0, &["l", "src"], "").contains("\nx.o\n"));
}

#[test]
fn what_cannot_be_done_is_said_with_its_reason() {
    let Some(homes) = Homes::new() else { return };
    homes.write("laptop", "a", "a");
    assert_eq!(homes.run(2, &["l", "/var/tmp"], ""), "Lsync: can not sync \"/var/tmp\", as it is not under $HOME\n");
    let bad = homes.program("bad", "echo 'no route to \x1b[31mhost' >&2; exit 255");
    for (code, args, why) in [
        (2, &["L", "../master"][..], "as it is not under $HOME"),
        (2, &["l", "missing"], "missing is no directory here"),
        (2, &["x"], "invalid value 'x'"),
        (2, &["L", "--json"], "functions l and m"),
        (1, &["undo"], "no sync of these homes"),
        (1, &["L", "--rsh", &bad], "no route to ?[31mhost"),
        (1, &["L", "--rsh", "/nothing/here"], "rsync"),
    ] {
        let said = homes.run(code, args, "y\n");
        assert!(said.contains(why), "{args:?}: {said}");
    }
    let output = homes.command(&["l"]).env("PATH", "/nothing").output().unwrap();
    assert!(text(&output.stderr).contains("apt-get install rsync"), "{}", text(&output.stderr));
    // Two at a time.
    let lock = fs::File::create(homes.at("laptop", ".lsync/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert!(homes.run(1, &["L"], "y\n").contains("another sync holds"));
    drop(lock);
    fs::write(homes.at("config", "fenxi/lsync.toml"), "master = 'm'\nmister = 'x'").unwrap();
    assert!(homes.run(2, &["l"], "").contains("unknown field `mister`"));
}

#[test]
fn a_link_of_its_name_is_the_command() {
    let Some(homes) = Homes::new() else { return };
    let link = homes.dir.path().join("Lsync");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fenxi"), &link).unwrap();
    let output = Command::new(link).arg("--help").output().unwrap();
    assert!(text(&output.stdout).contains("list what to sync from the laptop to the master"), "{output:?}");
}
